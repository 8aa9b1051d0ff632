#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// True for bool, and for structs with a bool field.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;

/// True if a bool's byte is neither 0 nor 1, which C++ code must not read. Reads every bool, in foreign host memory
/// only.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view);
/// Like above, for host elements that the caller keeps. `dtype`: as C++ code reads them.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);

/// Copies only the bools of `source`, as 0 and 1, to a host view of its dtype and shape.
MEMARRAY_API void write_valid_bools(ViewCore const& target, ViewCore const& source);

/// Returns a reported dense copy with bools of 0 and 1: in Fortran order if the view is dense in that order only, else
/// in C order. `dtype`, as above, has the view's item size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// Returns the view if its bools are valid, else `with_valid_bools`, or throws `BufferError` if `writable`.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
