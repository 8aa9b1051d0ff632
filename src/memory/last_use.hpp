#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>

namespace memarray::detail {

/// True if all submitted work on the memory is known to have completed. Blocks only if that cannot be queried.
[[nodiscard]] MEMARRAY_API bool is_over(StreamDependencies& uses) noexcept;

/// True if any thread may free memory in the queue at any later time, because its stream is known to exist then.
[[nodiscard]] MEMARRAY_API bool can_free_in(BoundStream const& queue, DeviceMemory const& memory) noexcept;

/// Returns a stream ordered after all uses: that of the last use if it can free the memory, or `allocated` if there was
/// no use. Otherwise returns the internal stream. Blocks, with a report, if there is none. Returns null if the uses
/// cannot be waited for either.
[[nodiscard]] MEMARRAY_API StreamHandle order_free(StreamDependencies& uses, StreamHandle const& allocated) noexcept;

}  // namespace memarray::detail
