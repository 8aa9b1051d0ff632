#pragma once

#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace memarray::detail {

inline constexpr int most_threads = 1024;

/// Bytes from which a loop is shared for its size alone.
inline constexpr std::size_t bytes_worth_sharing = std::size_t{1} << 20;

/// Divides [0, size) evenly; the first parts are longer by one.
[[nodiscard]] constexpr std::int64_t begin_of_part(std::int64_t size, std::int64_t parts, std::int64_t part) noexcept {
  return size / parts * part + std::min(size % parts, part);
}

/// True if a worker waits actively, so that sharing a loop costs below a microsecond.
[[nodiscard]] MEMARRAY_API bool workers_are_awake() noexcept;

/// Like `parallel_for`, for `width` threads. Each begins with its own part of the chunks, so that loops over an array
/// give it the same memory, and then takes others' chunks.
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
