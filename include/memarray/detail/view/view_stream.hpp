#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_uses.hpp>
#include <memarray/detail/strided/strided_job.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace memarray::detail {

/// In which stream a view of device memory is used. It orders nothing by itself: each operation does.
struct ViewStream {
  Queue queue;
  StreamUses::Lease lease = 0;  ///< that the view came from, open or over; 0: none
};
using ViewStreamPtr = std::shared_ptr<ViewStream const>;

// All throw `CudaError`.

/// That of a lease. Throws `LockError` when it is over.
[[nodiscard]] MEMARRAY_API ViewStreamPtr view_stream(Block& block, StreamUses::Lease lease);
/// Hands a view's memory to somebody who uses it in `queue`: what comes next there comes after all uses so far, and
/// whoever uses the memory next waits for it. `known`: there, and nowhere else.
MEMARRAY_API void lend_on(Block& block, ViewStream const& stream, Queue const& queue, Use use, bool known);
/// Submits a job that was checked, on memory of these blocks, ordered among their other uses.
MEMARRAY_API void submit(StridedJob const& job, Queue const& queue, Block& target, Block* source);

}  // namespace memarray::detail
