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

/// Returns pinned memory for a transfer. Small sizes are rounded up to one, whose buffers are cached.
[[nodiscard]] BlockPtr staging_block(DeviceMemory& memory, std::size_t bytes);

// `copy`, `fill`, `read_bytes` and `write_bytes` wait for the pending work on their blocks; the first two record their
// own. They throw `CudaError`, `OutOfMemoryError`; the target's contents are then unspecified.

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
MEMARRAY_API void wait_after_failure(BoundStream const& bound_stream, std::initializer_list<UseOf> uses) noexcept;

/// Like `Block::allocate`. Simulated devices name `what` in reports of host accesses.
[[nodiscard]] MEMARRAY_API BlockPtr allocate_for(std::string const& what, DeviceMemoryPtr const& memory,
                                                 BoundStream const& bound_stream, std::size_t bytes);

struct TransferStreams {
  BoundStream copies;
  BoundStream allocates;  ///< for memory of the target's device
  bool in_source;         ///< `copies` is on the source's device
};
/// Returns the streams for a copy in `stream`, which is on the device of `memory` or `source`; a default stream is on
/// the source's if `is_sources`. Throws `ValueError` for another device.
[[nodiscard]] MEMARRAY_API TransferStreams transfer_streams(StreamHandle const& stream, Block const& source,
                                                            DeviceMemory const& memory, bool is_sources = false);
/// Makes other streams' uses of `fresh` wait for its allocation in `bound_stream`.
MEMARRAY_API void record_allocation(Block& fresh, BoundStream const& bound_stream) noexcept;

MEMARRAY_API void report_transfer(std::string const& what, Device from, Device to, std::size_t bytes);

/// Writes `count` copies of the `itemsize` bytes at `element`, from byte `offset` on.
MEMARRAY_API void fill(Block& target, std::size_t offset, void const* element, std::size_t itemsize, std::size_t count,
                       BoundStream const& bound_stream);

/// Copy a few bytes between device memory and the host, and wait until the copy is complete.
MEMARRAY_API void read_bytes(Block& source, std::size_t offset, void* target, std::size_t bytes);
MEMARRAY_API void write_bytes(Block& target, std::size_t offset, void const* source, std::size_t bytes);

}  // namespace memarray::detail
