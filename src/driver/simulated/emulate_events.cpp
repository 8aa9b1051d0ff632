#include "emulate_events.hpp"

#include <chrono>
#include <mutex>

#include "session.hpp"
#include "site.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr unsigned without_timing = 2;
constexpr unsigned known_flags = 7;

}  // namespace

cu::Result cuEventCreate(Session& session, cu::Event* event, unsigned flags) {
  if ((flags & ~known_flags) != 0) return cuda_code::invalid_value;
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const context = session.working_context(function::cuEventCreate, error);
  if (!context) return error;
  auto created = std::make_shared<Event>();
  created->context = context->handle;
  created->flags = flags;
  created->site = current_site();
  *event = session.events.next(session.number);
  session.events.add(*event, std::move(created));
  return cuda_code::success;
}

cu::Result cuEventDestroy(Session& session, cu::Event handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  if (!session.event(handle, function::cuEventDestroy, error)) return error;
  session.events.remove(handle);
  return cuda_code::success;
}

cu::Result cuEventRecord(Session& session, cu::Event handle, cu::Stream stream_handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const event = session.event(handle, function::cuEventRecord, error);
  auto const stream = event ? session.working_stream(stream_handle, function::cuEventRecord, error) : nullptr;
  if (!stream) return error;
  if (event->context != stream->context) {
    session.violation(words("cuEventRecord: event ", static_cast<void const*>(handle), " and stream ",
                            static_cast<void const*>(stream_handle), " belong to different contexts"));
    return cuda_code::invalid_handle;
  }
  event->recorded = session.submit(*stream, {});
  return cuda_code::success;
}

cu::Result cuEventQuery(Session& session, cu::Event handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const event = session.event(handle, function::cuEventQuery, error);
  if (!event) return error;
  if (cu::Result const failed = session.state_of(event->context); failed != cuda_code::success) return failed;
  return !event->recorded || event->recorded->poll() ? cuda_code::success : cuda_code::not_ready;
}

cu::Result cuEventSynchronize(Session& session, cu::Event handle) {
  std::shared_ptr<Completion> recorded;
  cu::Context context = nullptr;
  {
    std::lock_guard const guard(session.lock);
    cu::Result error = cuda_code::success;
    auto const event = session.event(handle, function::cuEventSynchronize, error);
    if (!event) return error;
    recorded = event->recorded;
    context = event->context;
  }
  if (recorded) recorded->wait();
  std::lock_guard const guard(session.lock);
  session.trim_pools();
  return session.state_of(context);
}

cu::Result cuEventElapsedTime(Session& session, float* milliseconds, cu::Event start_handle, cu::Event end_handle) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const start = session.event(start_handle, function::cuEventElapsedTime, error);
  auto const end = start ? session.event(end_handle, function::cuEventElapsedTime, error) : nullptr;
  if (!end) return error;
  for (Event const* event : {start.get(), end.get()})
    if (cu::Result const failed = session.state_of(event->context); failed != cuda_code::success) return failed;
  if (((start->flags | end->flags) & without_timing) != 0 || !start->recorded || !end->recorded)
    return cuda_code::invalid_handle;
  if (!start->recorded->poll() || !end->recorded->poll()) return cuda_code::not_ready;
  *milliseconds = std::chrono::duration<float, std::milli>(end->recorded->when() - start->recorded->when()).count();
  return cuda_code::success;
}

}  // namespace memarray::simulated::emulated
