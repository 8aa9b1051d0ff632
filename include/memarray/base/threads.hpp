#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <memarray/base/config.hpp>

namespace memarray {

/// Returns a parallel loop's threads, at most 1024: `options().threads`, else the environment variable MEMARRAY_THREADS
/// as it was at the first call, else the process's CPUs.
[[nodiscard]] MEMARRAY_API int threads() noexcept;

/// Returns the chunks for a loop over `bytes`: 1 below 1 MiB, else up to eight per thread.
[[nodiscard]] MEMARRAY_API std::int64_t parallel_chunks(std::size_t bytes) noexcept;

/// Calls `call(context, chunk)` once for each chunk and waits for all. The caller takes part; idle threads join. A
/// nested call, or one during another thread's loop, uses the caller alone. If a chunk throws, chunks not begun are
/// skipped and the first exception is rethrown. Works in forked children.
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
