#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_uses.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>

namespace memarray::detail {

/// Whether a transfer may end after the call.
enum class Ending : bool { later, now };

// All functions order themselves behind the uses of the blocks that they touch, and count themselves as uses. They may
// only throw before anything of the target is changed that somebody could see: the target is memory that nobody uses
// yet, or whose contents are given up. Throw `CudaError`, `OutOfMemoryError`.

/// Copies the first `bytes` bytes of a block to another, between host and devices, in `queue`, which is of a device of
/// one of the two. With `Ending::later`, pageable memory is copied through pinned memory, so that the caller does not
/// wait; else the call returns when the copy is over. Two devices that do not reach each other copy through the host.
/// `offset`: where in the source it begins.
MEMARRAY_API void copy(Block& target, Block& source, std::size_t bytes, Queue const& queue, Ending ending,
                       std::size_t offset = 0);

/// A use of memory, null for none.
struct UseOf {
  StreamUses* uses;
  Use use;
};
/// After something failed: what may have been submitted to `queue` is waited for, so that memory may go; if that fails,
/// too, it counts as these uses. Drops the thread's last error.
MEMARRAY_API void give_up(Queue const& queue, std::initializer_list<UseOf> uses) noexcept;

/// Allocates memory of a device for use in `queue`. A simulated device names `owner` in its reports of host accesses.
/// Throws `CudaError`, `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API BlockPtr allocate_for(std::string const& owner, DeviceMemoryPtr const& memory,
                                                 Queue const& queue, std::size_t bytes);

/// Counts a copy of `what` between host and devices, and reports it.
MEMARRAY_API void report_transfer(std::string const& what, Device from, Device to, std::size_t bytes);

/// Sets `count` elements of device memory, from byte `offset` on, to the `itemsize` bytes at `element`.
MEMARRAY_API void fill(Block& target, std::size_t offset, void const* element, std::size_t itemsize, std::size_t count,
                       Queue const& queue);

/// A few bytes of device memory, to and from the host; over when the call returns. They leave no use behind.
MEMARRAY_API void read_bytes(Block& source, std::size_t offset, void* target, std::size_t bytes);
MEMARRAY_API void write_bytes(Block& target, std::size_t offset, void const* source, std::size_t bytes);

}  // namespace memarray::detail
