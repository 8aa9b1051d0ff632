#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <memarray/base/config.hpp>

namespace memarray {

/// Returns the number of host threads of a parallel loop: `options().threads`, or the number of CPUs that the process
/// may use. At most 1024.
[[nodiscard]] MEMARRAY_API int threads() noexcept;

/// Returns the number of chunks for a loop over `bytes` of memory. It is 1 below 1 MiB, where waking a thread costs
/// more than it saves, and otherwise up to eight per thread.
[[nodiscard]] MEMARRAY_API std::int64_t parallel_chunks(std::size_t bytes) noexcept;

/// Calls `call(context, chunk)` once for each chunk from 0 on and returns when all have completed. The caller takes
/// part. Idle threads join as they wake, and the call does not wait for them once no chunk is left. A nested call, or a
/// call while another thread's loop runs, uses the caller alone. If a chunk throws, chunks not begun are skipped and
/// the first exception is rethrown here. Works in forked children.
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
