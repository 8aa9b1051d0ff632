#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray::detail {

/// Memory of a loop that is shared for its size alone.
inline constexpr std::size_t bytes_worth_sharing = std::size_t{1} << 20;

/// Returns where a part begins if [0, size) is divided evenly; the first parts are longer by one.
[[nodiscard]] constexpr std::int64_t begin_of_part(std::int64_t size, std::int64_t parts, std::int64_t part) noexcept {
  return size / parts * part + std::min(size % parts, part);
}

/// True if a worker waits actively, as for 100 µs after a loop. Sharing a loop then costs below a microsecond.
[[nodiscard]] bool workers_are_awake() noexcept;

/// Like `parallel_for`, for `width` threads.
///
/// Thread `t` begins with the chunks from `t * chunks / width` on and then takes other threads' chunks. So loops over
/// one array give the same part to the same thread, and uneven chunks are shared.
void share_loop(int width, std::int64_t chunks, void (*call)(void*, std::int64_t), void* context);
template <class F>
  requires std::is_invocable_v<F&, std::int64_t>
void share_loop(int width, std::int64_t chunks, F&& function) {
  using Function = std::remove_reference_t<F>;
  share_loop(
      width, chunks, [](void* context, std::int64_t chunk) { (*static_cast<Function*>(context))(chunk); },
      const_cast<void*>(static_cast<void const*>(std::addressof(function))));
}

}  // namespace memarray::detail
