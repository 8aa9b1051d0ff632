#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>

namespace memarray::detail {

/// The time at which a transfer completes: after the call, or before it returns.
enum class CopyMode : bool { async, blocking };

// All functions wait for the pending work on the blocks that they use, and record their own. They throw `CudaError` and
// `OutOfMemoryError`, but only before a visible change: the target is unused memory, or its contents are given up.

/// Copies `bytes` bytes, from byte `offset` of the source to the start of the target, between host and devices. `queue`
/// is on the device of one of the two. With `CopyMode::async`, pageable memory is copied through pinned memory, so that
/// the caller does not wait; else the call returns when the copy has completed. Devices without peer access copy
/// through the host.
MEMARRAY_API void copy(Block& target, Block& source, std::size_t bytes, BoundStream const& queue, CopyMode ending,
                       std::size_t offset = 0);

/// A use of one piece of memory. `uses` is null for none.
struct UseOf {
  StreamDependencies* uses;
  Use use;
};
/// Waits, after a failure, for work that may have been submitted to `queue`, so that its memory can be freed. Records
/// the work as `uses` if the wait fails. Clears the thread's last error.
MEMARRAY_API void give_up(BoundStream const& queue, std::initializer_list<UseOf> uses) noexcept;

/// Allocates device memory for use in `queue`. Simulated devices name `owner` in reports of host accesses.
/// Throws `CudaError`, `OutOfMemoryError`.
[[nodiscard]] MEMARRAY_API BlockPtr allocate_for(std::string const& owner, DeviceMemoryPtr const& memory,
                                                 BoundStream const& queue, std::size_t bytes);

/// The streams of a copy from a block to a device, or from a device to the host.
struct TransferStreams {
  BoundStream copies;
  BoundStream allocates;  ///< where memory of the target device is allocated
  bool in_source;         ///< `copies` is on the source's device, not on that of `memory`
};
/// Returns the streams for a copy in `stream`, which may belong to the device of `memory` or to that of `source`.
/// `is_sources`: a default stream is that of the source's device. Throws `ValueError` for a stream of another device.
[[nodiscard]] MEMARRAY_API TransferStreams transfer_streams(StreamHandle const& stream, Block const& source,
                                                            DeviceMemory const& memory, bool is_sources = false);
/// Records the allocation of `fresh` in `queue` as pending work: other streams may use the memory only after it.
MEMARRAY_API void record_allocation(Block& fresh, BoundStream const& queue) noexcept;

/// Counts and reports a copy of `what` from one device (or the host) to another.
MEMARRAY_API void report_transfer(std::string const& what, Device from, Device to, std::size_t bytes);

/// Sets `count` elements of device memory, from byte `offset` on, to the `itemsize` bytes at `element`.
MEMARRAY_API void fill(Block& target, std::size_t offset, void const* element, std::size_t itemsize, std::size_t count,
                       BoundStream const& queue);

/// Copies a few bytes of device memory to the host. Waits for the copy and records no pending work.
MEMARRAY_API void read_bytes(Block& source, std::size_t offset, void* target, std::size_t bytes);
/// Copies a few bytes from the host to device memory. Waits for the copy and records no pending work.
MEMARRAY_API void write_bytes(Block& target, std::size_t offset, void const* source, std::size_t bytes);

}  // namespace memarray::detail
