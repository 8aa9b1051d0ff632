#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include <memarray/base/config.hpp>

namespace memarray {

/// Host threads that a parallel loop may use: `options().threads`, or as many as the process may run on.
[[nodiscard]] MEMARRAY_API int threads() noexcept;

/// Into how many chunks a loop over that much memory is best cut: one below about 1 MiB, where waking a
/// thread costs more than it helps, and enough for every thread to have some above.
[[nodiscard]] MEMARRAY_API std::int64_t parallel_chunks(std::size_t bytes) noexcept;

/// Calls `call(context, chunk)` once for each chunk from 0 on and returns when all have ended. The caller takes part;
/// sleeping threads join as they wake and are not waited for if nothing is left to do. Calls from within a chunk, and
/// those made while another thread's loop runs, run on the caller alone. If chunks throw, those not begun are skipped
/// and the first exception is rethrown here. Works in forked children.
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
