#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/detail/memory/device_memory.hpp>

#include <cstdint>

namespace memarray::detail {

enum class Use : std::uint8_t { read, write };

/// Waits until all that is in the queue now has ended, or else all work of its device, which is reported; false if
/// neither can be waited for.
MEMARRAY_API bool end_now(Queue const& queue) noexcept;
bool end_now(ContextHandle const& context) noexcept;

/// Work in a queue that uses a piece of memory, up to its end.
struct StreamUse {
  Queue queue;
  EventHandle event;        ///< null: it has ended
  bool is_unknown = false;  ///< there is no event, and whether it has ended cannot be said
};

/// The end of all that is in the queue now. When no event can be had, the context is synchronised, which is reported.
[[nodiscard]] MEMARRAY_API StreamUse end_of(Queue const& queue, DeviceMemory& memory) noexcept;
/// Where waits are made that no memory was left to put off.
inline constexpr char const* not_remembered = "work that cannot be remembered";

/// Waits here for the event, if it can be waited for; there is nobody to tell if it cannot.
void wait_here(EventHandle const& event, char const* site) noexcept;
/// Work that others submit to the queue from now on comes after the event. `site` as for `wait`. Throws `CudaError`.
void hold_back(Queue const& queue, EventHandle const& event, char const* site);
/// Work submitted to `queue` from now on comes after what is in the other now. Throws `CudaError`.
void wait_for_now(Queue const& queue, Queue const& other, DeviceMemory& memory, char const* site);
/// Whether two queues are one, of streams that are all there now, so that an address is one stream's.
[[nodiscard]] bool is_same_now(Queue const& left, Queue const& right) noexcept;
/// `report_wait`, where nothing may fail.
void report_blocking(char const* why) noexcept;

}  // namespace memarray::detail
