#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/memory/stream_uses.hpp>

namespace memarray::detail {

/// Whether all that was submitted to the memory is known to have ended. Does not block, unless it cannot be asked.
[[nodiscard]] MEMARRAY_API bool is_over(StreamUses& uses) noexcept;

/// Whether memory may be freed in the queue whenever that is: it is known to be there still, for any thread.
[[nodiscard]] MEMARRAY_API bool can_free_in(Queue const& queue, DeviceMemory const& memory) noexcept;

/// A stream that comes after all uses: where the memory was used last, if it can be freed there, or `allocated` if it
/// was not used at all; null: of the library's own. Null if there is none, and the uses cannot be waited for either.
[[nodiscard]] MEMARRAY_API StreamHandle order_free(StreamUses& uses, StreamHandle const& allocated) noexcept;

}  // namespace memarray::detail
