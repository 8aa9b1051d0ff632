#include <memarray/base/reports.hpp>
#include <memarray/detail/memory/pending_work.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <new>
#include <utility>

namespace memarray::detail {
namespace {

constexpr char const* no_event = "work without an event to wait for";

}  // namespace

void report_blocking(char const* site) noexcept {
  try {
    report_wait(site);
  } catch (std::bad_alloc const&) {
    // Not counted.
  }
}

bool is_same_now(BoundStream const& left, BoundStream const& right) noexcept {
  BoundStream first = left;
  BoundStream second = right;
  first.lasting = second.lasting = true;
  return first.is(second);
}

void hold_back(BoundStream const& bound_stream, EventHandle const& event, char const* site) {
  if (!bound_stream.is_another_threads()) return wait(bound_stream, event, site);
  wait_here(event, site);
  report_blocking("another thread's default stream cannot be made to wait, so work was waited for");
}

void wait_here(EventHandle const& event, char const* site) noexcept {
  testing::detail::WaitSite const named(site);
  if (!memarray::synchronize(event)) clear_last_error();
}

void wait_unrecorded(PendingWork const& end) noexcept {
  if (end.event)
    wait_here(end.event, not_recorded);
  else if (end.is_unknown)
    static_cast<void>(end_now(end.bound_stream));
}

bool end_now(ContextHandle const& context) noexcept {
  testing::detail::WaitSite const site(no_event);
  bool const ended = synchronize(context);
  if (ended) clear_last_error();
  report_blocking(ended ? "no event could be recorded, so all work of the device was waited for"
                        : "no event could be recorded, and the device's work cannot be waited for");
  return ended;
}

bool end_now(BoundStream const& bound_stream) noexcept {
  testing::detail::WaitSite const site(no_event);
  return (!bound_stream.is_another_threads() && synchronize(bound_stream)) || end_now(bound_stream.context);
}

// True if an event may stay in the context: a foreign context may be destroyed once its work completes.
bool is_kept(ContextHandle const& context, DeviceMemory const& memory) noexcept {
  return as_cu(context) == as_cu(memory.context()) || keeps_context(context) ||
         as_cu(context) == as_cu(held_primary_context(device_id_of(context)));
}

PendingWork end_of(BoundStream const& bound_stream, DeviceMemory& memory) noexcept {
  if (!is_kept(bound_stream.context, memory)) return {bound_stream, nullptr, !end_now(bound_stream)};
  if (bound_stream.is_another_threads()) return {bound_stream, nullptr, !end_now(bound_stream.context)};
  EventHandle event = as_cu(bound_stream.context) == as_cu(memory.context())
                          ? memory.event()
                          : create_event_handle(bound_stream.context);
  if (event && record(event, bound_stream.stream)) return {bound_stream, std::move(event)};
  return {bound_stream, nullptr, !end_now(bound_stream.context)};
}

void wait_for_now(BoundStream const& bound_stream, BoundStream const& other, DeviceMemory& memory, char const* site) {
  PendingWork const now = end_of(other, memory);
  if (now.is_unknown) throw_last_error(site);
  if (now.event) wait(bound_stream, now.event, site);
}

}  // namespace memarray::detail
