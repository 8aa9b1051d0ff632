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

/// The stream of a view of device memory. Each operation orders its own work.
struct ViewStream {
  BoundStream bound_stream;
  StreamDependencies::Lease lease = 0;  ///< the lease that made the view, open or closed; 0: none
};
using ViewStreamPtr = std::shared_ptr<ViewStream const>;

/// Returns a lease's stream. Throws `LockError` (closed).
[[nodiscard]] MEMARRAY_API ViewStreamPtr view_stream(Block& block, StreamDependencies::Lease lease);
/// Orders an export: later work in `bound_stream` waits for pending work, later users wait for `bound_stream`. `known`:
/// the consumer uses no other stream. Throws `CudaError`.
MEMARRAY_API void export_on(Block& block, ViewStream const& stream, BoundStream const& bound_stream, Use use,
                            bool known);
/// Submits a job, ordered among the blocks' other uses. Throws `CudaError`, and like the job's `check` and `submit`.
MEMARRAY_API void submit(StridedJob const& job, BoundStream const& bound_stream, Block& target, Block* source);

}  // namespace memarray::detail
