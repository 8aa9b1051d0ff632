#pragma once

#include <memory>

#include <memarray/base/config.hpp>

struct CUstream_st;

namespace memarray {

/// Shares a stream and all that it depends on. The stream itself is `*handle`; a null handle stands for a
/// creation that failed, never for a stream.
using StreamHandle = std::shared_ptr<CUstream_st* const>;

/// The default stream, CUDA's stream 0: on the host, work that is over when the call returns.
[[nodiscard]] MEMARRAY_API StreamHandle default_stream() noexcept;

}  // namespace memarray
