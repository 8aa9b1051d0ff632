#include <memarray/base/hooks.hpp>
#include <memarray/driver/event_handle.hpp>

#include "box.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::ContextScope;
using detail::make_handle;

constexpr unsigned no_timing_flag = 2;

struct EventBox : Box<cu::Event> {
  EventBox(DriverTable const* table, ContextHandle of) noexcept : Box(table), context(std::move(of)) {}
  ~EventBox() {
    DriverTable const* const table = to_destroy();
    if (!table) return;
    RuntimeRelease const released;
    static_cast<void>(table->cuEventDestroy(resource));
  }

  ContextHandle context;
  bool timing = false;
};

}  // namespace

EventHandle create_event_handle(ContextHandle const& context, bool timing) noexcept {
  ContextScope const scope(context);
  if (!scope.driver()) return nullptr;
  return make_handle<EventBox>(
      [&](EventBox& box) {
        RuntimeRelease const released;
        cu::Result const result = scope.driver()->cuEventCreate(&box.resource, timing ? 0 : no_timing_flag);
        box.owned = result == 0;
        box.timing = timing;
        return result;
      },
      scope.driver(), context);
}

EventHandle create_event_handle_ref(cu::Event event, ContextHandle context) noexcept {
  return create_event_handle_with_owner(event, nullptr, std::move(context));
}

EventHandle create_event_handle_with_owner(cu::Event event, KeepAlive owner, ContextHandle context) noexcept {
  if (!context) return detail::null_for_null(cuda_code::invalid_context);
  DriverTable const* const table = driver_of(context);
  if (!table) {
    detail::record_error(cuda_code::not_initialized);
    return nullptr;
  }
  return make_handle<EventBox>(
      [&](EventBox& box) {
        box.resource = event;
        box.owner = std::move(owner);
        return 0;
      },
      table, std::move(context));
}

ContextHandle const& context_of(EventHandle const& event) noexcept {
  return event ? box_of<EventBox>(event).context : detail::no_context;
}

bool has_timing(EventHandle const& event) noexcept { return event && box_of<EventBox>(event).timing; }

}  // namespace memarray
