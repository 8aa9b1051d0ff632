#include <memarray/resource/stream_handle.hpp>

namespace memarray {
namespace {

constinit CUstream_st* const stream_0 = nullptr;

}  // namespace

// Aliases nothing: there is no count to touch, and it is good before and after every static's life.
StreamHandle default_stream() noexcept { return StreamHandle(StreamHandle(), &stream_0); }

}  // namespace memarray
