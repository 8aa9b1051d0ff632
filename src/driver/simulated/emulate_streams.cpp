#include "emulate_streams.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr unsigned nonblocking = 1;

cu::Result submit_program_code(Session& session, cu::Stream handle, std::function<void()> work, std::size_t function) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(handle, function, error);
  if (!stream) return error;
  session.submit(*stream, {.work = std::move(work), .after = {}, .takes_time = true});
  return cuda_code::success;
}

struct Misaligned : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Failure {
  cu::Result code;
  std::string words;
};

std::optional<Failure> run(cu::HostFunction kernel, void* data) {
  ProgramCode const program;
  Failure failure{cuda_code::launch_failed, "a kernel threw: "};
  try {
    kernel(data);
    return std::nullopt;
  } catch (Misaligned const& error) {
    failure = {cuda_code::misaligned_address, error.what()};
  } catch (std::exception const& error) {
    failure.words += error.what();
  } catch (...) {
    failure.words += "an exception that is not a std::exception";
  }
  return failure;
}

// Makes the context unusable. Queued work still runs: each kernel releases its launch's arguments.
void fail_kernel(Session& session, Failure const& failure, std::string const& site) {
  Stream const& stream = *running_stream();
  session.violation(words(failure.words, site.empty() ? "" : ", launched at ", site, " (on stream ",
                          static_cast<void const*>(stream.handle), " of device ", stream.device,
                          ", whose context is unusable from now on: ", detail::name_of_cuda_code(failure.code), ")"));
  std::lock_guard const guard(session.lock);
  if (auto const context = session.contexts.find(stream.context)) context->error = failure.code;
}

}  // namespace

cu::Result cuStreamCreateWithPriority(Session& session, cu::Stream* stream, unsigned flags, int priority) {
  if ((flags & ~nonblocking) != 0) return cuda_code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const context = session.working_context(function::cuStreamCreateWithPriority, error);
  if (!context) return error;
  auto const kind = flags == nonblocking ? Stream::Kind::nonblocking : Stream::Kind::blocking;
  auto const created = session.start_stream(*context, kind, flags, std::clamp(priority, greatest_priority, 0));
  session.streams.add(created->handle, created);
  *stream = created->handle;
  return cuda_code::success;
}

cu::Result cuStreamDestroy(Session& session, cu::Stream handle) {
  std::lock_guard const guard(session.lock);
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    session.violation("cuStreamDestroy: a default stream cannot be destroyed");
    return cuda_code::invalid_handle;
  }
  cu::Result error = cuda_code::success;
  auto const stream = session.stream(handle, function::cuStreamDestroy, error);
  if (!stream) return error;
  if (auto const context = session.contexts.find(stream->context)) session.end_stream(*context, *stream);
  session.streams.remove(handle);
  return cuda_code::success;
}

cu::Result cuStreamSynchronize(Session& session, cu::Stream handle) {
  std::shared_ptr<Completion> last;
  cu::Context context = nullptr;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    auto const stream = session.stream(handle, function::cuStreamSynchronize, error);
    if (!stream) return error;
    last = stream->last();
    context = stream->context;
  }
  if (last) last->wait();
  std::lock_guard const guard(session.lock);
  session.trim_pools();
  return session.state_of(context);
}

cu::Result cuStreamQuery(Session& session, cu::Stream handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(handle, function::cuStreamQuery, error);
  if (!stream) return error;
  return !stream->last() || stream->last()->poll() ? cuda_code::success : cuda_code::not_ready;
}

cu::Result cuStreamWaitEvent(Session& session, cu::Stream handle, cu::Event event_handle, unsigned flags) {
  if (flags > 1) return cuda_code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.working_stream(handle, function::cuStreamWaitEvent, error);
  auto const event = stream ? session.event(event_handle, function::cuStreamWaitEvent, error) : nullptr;
  if (!event) return error;
  if (cu::Result const failed = session.state_of(event->context); failed != cuda_code::success) return failed;
  if (event->recorded) session.submit(*stream, {.work = nullptr, .after = {event->recorded}});
  return cuda_code::success;
}

cu::Result cuStreamGetCtx(Session& session, cu::Stream handle, cu::Context* context) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.stream(handle, function::cuStreamGetCtx, error);
  if (!stream) return error;
  *context = stream->context;
  return cuda_code::success;
}

cu::Result cuStreamGetPriority(Session& session, cu::Stream handle, int* priority) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.stream(handle, function::cuStreamGetPriority, error);
  if (!stream) return error;
  *priority = stream->priority;
  return cuda_code::success;
}

cu::Result cuStreamGetFlags(Session& session, cu::Stream handle, unsigned* flags) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const stream = session.stream(handle, function::cuStreamGetFlags, error);
  if (!stream) return error;
  *flags = stream->flags;
  return cuda_code::success;
}

cu::Result cuLaunchHostFunc(Session& session, cu::Stream handle, cu::HostFunction host_function, void* data) {
  if (!host_function) return cuda_code::invalid_value;
  auto work = [host_function, data] {
    ProgramCode const program;
    host_function(data);
  };
  return submit_program_code(session, handle, std::move(work), function::cuLaunchHostFunc);
}

cu::Result launch(Session& session, cu::Stream handle, cu::HostFunction kernel, void* data) {
  if (!kernel) return cuda_code::invalid_value;
  auto work = [&session, kernel, data, site = std::string(current_site())] {
    if (auto const failure = run(kernel, data)) fail_kernel(session, *failure, site);
  };
  return submit_program_code(session, handle, std::move(work), launch_function);
}

}  // namespace memarray::simulated::emulated

void memarray::testing::detail::check_load(void const* pointer, std::size_t alignment) {
  auto const address = reinterpret_cast<std::uintptr_t>(pointer);
  if (!simulated::running_stream() || address % alignment == 0) return;
  throw simulated::emulated::Misaligned(simulated::words(
      "a kernel was given elements aligned to ", alignment, " bytes at an address that is ", address % alignment,
      " bytes past a multiple of that, and a GPU refuses to load them (cudaErrorMisalignedAddress)"));
}
