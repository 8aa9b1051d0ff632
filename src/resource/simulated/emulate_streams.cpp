#include "emulate_streams.hpp"

#include <algorithm>
#include <mutex>

#include "session.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr unsigned nonblocking = 1;
constexpr int greatest_priority = -5;

cu::Result submit_program_code(Session& session, cu::Stream handle, cu::HostFunction code_of_program, void* data,
                               std::size_t function) {
  if (!code_of_program) return code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function, error);
  if (!stream) return error;
  session.submit(*stream, {.work =
                               [code_of_program, data] {
                                 ProgramCode const program;
                                 code_of_program(data);
                               },
                           .after = {},
                           .takes_time = true});
  return code::success;
}

}  // namespace

cu::Result cuStreamCreateWithPriority(Session& session, cu::Stream* stream, unsigned flags, int priority) {
  if ((flags & ~nonblocking) != 0) return code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const context = session.current(function::cuStreamCreateWithPriority, error);
  if (!context) return error;
  auto const kind = flags == nonblocking ? Stream::Kind::nonblocking : Stream::Kind::blocking;
  auto const created = session.start_stream(*context, kind, flags, std::clamp(priority, greatest_priority, 0));
  session.streams.add(created->handle, created);
  *stream = created->handle;
  return code::success;
}

cu::Result cuStreamDestroy(Session& session, cu::Stream handle) {
  std::lock_guard const guard(session.lock);
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    session.violation("cuStreamDestroy: a default stream cannot be destroyed");
    return code::invalid_handle;
  }
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamDestroy, error);
  if (!stream) return error;
  if (auto const context = session.contexts.find(stream->context)) session.end_stream(*context, *stream);
  session.streams.remove(handle);
  return code::success;
}

cu::Result cuStreamSynchronize(Session& session, cu::Stream handle) {
  std::shared_ptr<Completion> last;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = code::success;
    auto const stream = session.stream(handle, function::cuStreamSynchronize, error);
    if (!stream) return error;
    last = stream->last();
  }
  if (last) last->wait();
  std::lock_guard const guard(session.lock);
  session.trim_pools();
  return code::success;
}

cu::Result cuStreamQuery(Session& session, cu::Stream handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamQuery, error);
  if (!stream) return error;
  return !stream->last() || stream->last()->poll() ? code::success : code::not_ready;
}

cu::Result cuStreamWaitEvent(Session& session, cu::Stream handle, cu::Event event_handle, unsigned flags) {
  if (flags > 1) return code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamWaitEvent, error);
  auto const event = stream ? session.event(event_handle, function::cuStreamWaitEvent, error) : nullptr;
  if (!event) return error;
  if (event->recorded) session.submit(*stream, {.work = nullptr, .after = {event->recorded}});
  return code::success;
}

cu::Result cuStreamGetCtx(Session& session, cu::Stream handle, cu::Context* context) {
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamGetCtx, error);
  if (!stream) return error;
  *context = stream->context;
  return code::success;
}

cu::Result cuStreamGetPriority(Session& session, cu::Stream handle, int* priority) {
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamGetPriority, error);
  if (!stream) return error;
  *priority = stream->priority;
  return code::success;
}

cu::Result cuStreamGetFlags(Session& session, cu::Stream handle, unsigned* flags) {
  std::lock_guard const guard(session.lock);
  cu::Result error = code::success;
  auto const stream = session.stream(handle, function::cuStreamGetFlags, error);
  if (!stream) return error;
  *flags = stream->flags;
  return code::success;
}

cu::Result cuLaunchHostFunc(Session& session, cu::Stream handle, cu::HostFunction host_function, void* data) {
  return submit_program_code(session, handle, host_function, data, function::cuLaunchHostFunc);
}

cu::Result launch(Session& session, cu::Stream handle, cu::HostFunction kernel, void* data) {
  return submit_program_code(session, handle, kernel, data, function::cuLaunchHostFunc);
}

}  // namespace memarray::simulated::emulated
