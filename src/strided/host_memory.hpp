#pragma once

#include <memarray/base/config.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Copies between ranges that do not overlap, on several threads if large.
MEMARRAY_API void copy_host(std::byte* destination, std::byte const* source, std::size_t bytes);
/// Repeats the `itemsize` bytes at `element` over `count` elements.
MEMARRAY_API void fill_host(std::byte* destination, void const* element, std::size_t itemsize, std::size_t count);

/// Like `fill_host`, for elements `stride` bytes apart, on the calling thread. `element` is none of them.
MEMARRAY_API void fill_row(std::byte* target, std::int64_t stride, std::int64_t count, std::byte const* element,
                           std::size_t itemsize);

}  // namespace memarray::detail
