#include "ends.hpp"

#include <memarray/base/reports.hpp>
#include <memarray/resource/last_error.hpp>
#include <memarray/resource/stream_order.hpp>

#include <new>
#include <thread>

namespace memarray::detail {
namespace {

// Its name means the caller's own default stream here.
bool is_another_threads(Queue const& queue) noexcept {
  return queue.thread != std::thread::id() && queue.thread != std::this_thread::get_id();
}

}  // namespace

void report_blocking(char const* site) noexcept {
  try {
    report_wait(site);
  } catch (std::bad_alloc const&) {
    // Counted or not, the wait is over.
  }
}

void hold_back(Queue const& queue, EventHandle const& event, char const* site) {
  if (!is_another_threads(queue)) return wait(queue, event, site);
  if (!memarray::synchronize(event)) clear_last_error();
  report_blocking("another thread's default stream cannot be made to wait, so work was waited for");
}

void end_now(ContextHandle const& context) noexcept {
  bool const ended = synchronize(context);
  report_blocking(ended ? "no event could be recorded, so all work of the device was waited for"
                        : "no event could be recorded, and the device's work cannot be waited for: it has failed");
  clear_last_error();
}

EventHandle end_of(Queue const& queue, DeviceMemory& memory) noexcept {
  if (is_another_threads(queue)) {
    end_now(queue.context);
    return nullptr;
  }
  EventHandle event =
      as_cu(queue.context) == as_cu(memory.context()) ? memory.event() : create_event_handle(queue.context);
  if (event && record(event, queue.stream)) return event;
  end_now(queue.context);
  return nullptr;
}

}  // namespace memarray::detail
