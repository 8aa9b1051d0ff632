#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>

namespace memarray::detail {

enum class CopyMode : bool { async, blocking };

/// Returns pinned memory for a transfer. Small transfers share cached buffers of one size.
[[nodiscard]] BlockPtr staging_block(DeviceMemory& memory, std::size_t bytes);

// All functions wait for the pending work on their blocks and record their own. They throw `CudaError`,
// `OutOfMemoryError` without a visible change: the target's contents are unused or given up.

/// Copies from byte `offset` of the source to the start of the target. `bound_stream` is on either's device. `async`
/// stages pageable memory in pinned memory. Devices without peer access copy through the host.
MEMARRAY_API void copy(Block& target, Block& source, std::size_t bytes, BoundStream const& bound_stream,
                       CopyMode ending, std::size_t offset = 0);

/// A use, or none if `uses` is null.
struct UseOf {
  StreamDependencies* uses;
  Use use;
};
/// Waits for work that a failed function submitted to `bound_stream`; records it as `uses` if the wait fails. Clears
/// the last error.
MEMARRAY_API void give_up(BoundStream const& bound_stream, std::initializer_list<UseOf> uses) noexcept;

/// Like `Block::allocate`. Simulated devices name `owner` in reports of host accesses.
[[nodiscard]] MEMARRAY_API BlockPtr allocate_for(std::string const& owner, DeviceMemoryPtr const& memory,
                                                 BoundStream const& bound_stream, std::size_t bytes);

struct TransferStreams {
  BoundStream copies;
  BoundStream allocates;  ///< for memory of the target's device
  bool in_source;         ///< `copies` is on the source's device
};
/// Returns the streams for a copy in `stream`, of the device of `memory` or `source`. `is_sources`: a default stream is
/// the source's. Throws `ValueError` for another device.
[[nodiscard]] MEMARRAY_API TransferStreams transfer_streams(StreamHandle const& stream, Block const& source,
                                                            DeviceMemory const& memory, bool is_sources = false);
/// Makes other streams' uses of `fresh` wait for its allocation in `bound_stream`.
MEMARRAY_API void record_allocation(Block& fresh, BoundStream const& bound_stream) noexcept;

MEMARRAY_API void report_transfer(std::string const& what, Device from, Device to, std::size_t bytes);

/// Sets `count` elements from byte `offset` on to the `itemsize` bytes at `element`.
MEMARRAY_API void fill(Block& target, std::size_t offset, void const* element, std::size_t itemsize, std::size_t count,
                       BoundStream const& bound_stream);

/// Copy a few bytes between device memory and the host. Block, so no work stays pending.
MEMARRAY_API void read_bytes(Block& source, std::size_t offset, void* target, std::size_t bytes);
MEMARRAY_API void write_bytes(Block& target, std::size_t offset, void const* source, std::size_t bytes);

}  // namespace memarray::detail
