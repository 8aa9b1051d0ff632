#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <memarray/base/config.hpp>

namespace memarray {

/// Returns a parallel loop's threads, at most 1024: `options().threads`, else the environment's MEMARRAY_THREADS (read
/// once), else the process's CPUs.
[[nodiscard]] MEMARRAY_API int threads() noexcept;

/// Returns the chunks for a loop over `bytes`: 1 below 1 MiB or for one thread, else up to eight per thread.
[[nodiscard]] MEMARRAY_API std::int64_t parallel_chunks(std::size_t bytes) noexcept;

/// Calls `call(context, chunk)` once per chunk, on the caller and idle threads, and waits for all. A nested or
/// concurrent loop runs on its caller alone. If a chunk throws, skips those not begun and rethrows the first exception.
/// Works in forked children.
MEMARRAY_API void parallel_for(std::int64_t chunks, void (*call)(void* context, std::int64_t chunk), void* context);

template <class F>
  requires std::is_invocable_v<F&, std::int64_t>
void parallel_for(std::int64_t chunks, F&& function) {
  using Function = std::remove_reference_t<F>;
  parallel_for(
      chunks, [](void* context, std::int64_t chunk) { (*static_cast<Function*>(context))(chunk); },
      const_cast<void*>(static_cast<void const*>(std::addressof(function))));
}

}  // namespace memarray
