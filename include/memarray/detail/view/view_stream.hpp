#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/strided/strided_job.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace memarray::detail {

/// The stream in which a view of device memory is used. It orders nothing by itself: each operation orders its own
/// work.
struct ViewStream {
  BoundStream queue;
  StreamDependencies::Lease lease = 0;  ///< the lease that made the view, open or closed; 0: none
};
using ViewStreamPtr = std::shared_ptr<ViewStream const>;

// All functions below throw `CudaError`.

/// Returns the stream of a lease. Throws `LockError` if the lease is closed.
[[nodiscard]] MEMARRAY_API ViewStreamPtr view_stream(Block& block, StreamDependencies::Lease lease);
/// Orders an export of a view's memory for use in `queue`. Work submitted to `queue` from now on waits for the pending
/// work on the memory; later users of the memory wait for the work in `queue`. `known`: the consumer uses the memory in
/// `queue` only.
MEMARRAY_API void export_on(Block& block, ViewStream const& stream, BoundStream const& queue, Use use, bool known);
/// Submits a job on memory of these blocks, ordered among the other uses of the blocks.
MEMARRAY_API void submit(StridedJob const& job, BoundStream const& queue, Block& target, Block* source);

}  // namespace memarray::detail
