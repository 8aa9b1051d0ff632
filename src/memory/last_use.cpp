#include "last_use.hpp"

#include <memarray/base/reports.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <new>
#include <optional>
#include <vector>

namespace memarray::detail {
namespace {

constexpr char const* freeing_memory = "freeing memory, after its last use";

// True also if the context is lost.
bool has_ended(PendingWork const& use) noexcept {
  if (!use.event && !use.is_unknown) return true;
  if (use.event && memarray::synchronize(use.event)) return true;
  ContextHandle const& context = use.bound_stream.context;
  return detail::synchronize(context) || is_lost(context);
}

}  // namespace

bool is_over(StreamDependencies& uses) noexcept {
  testing::detail::WaitSite const site(freeing_memory);
  bool over = true;
  try {
    for (PendingWork const& use : uses.all()) {
      std::optional<bool> const known = use.event ? query(use.event) : std::nullopt;
      if (known ? !*known : !has_ended(use)) over = false;
      if (!over) break;
    }
  } catch (std::bad_alloc const&) {
    over = false;
  }
  clear_last_error();
  return over;
}

bool can_free_in(BoundStream const& bound_stream, DeviceMemory const& memory) noexcept {
  // The allocator resolves default streams in its own context and thread.
  return bound_stream.lasting && as_cu(bound_stream.context) == as_cu(memory.context()) && bound_stream.thread == 0;
}

StreamHandle order_free(StreamDependencies& uses, StreamHandle const& allocated) noexcept {
  try {
    std::vector<PendingWork> const all = uses.all();
    std::optional<BoundStream> bound_stream;
    for (PendingWork const& use : all)
      if (can_free_in(use.bound_stream, uses.memory())) bound_stream = use.bound_stream;
    if (all.empty() && allocated) return allocated;
    if (!bound_stream) bound_stream = uses.memory().internal_stream();
    uses.order(*bound_stream, Use::write, "freeing memory");
    return bound_stream->stream;
  } catch (...) {  // the host waits instead
  }
  testing::detail::WaitSite const site(freeing_memory);
  try {
    for (PendingWork const& use : uses.all())
      if (!has_ended(use)) return nullptr;
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  clear_last_error();
  report_blocking("memory could not be freed in the order of a stream, so its uses were waited for");
  return default_stream();
}

}  // namespace memarray::detail
