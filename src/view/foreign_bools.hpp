#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// True for bool, and for structs with a bool field.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;

/// True if a bool's byte is neither 0 nor 1, which C++ code must not read. Only foreign host memory can have one. Reads
/// every bool.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view);
/// Checks host elements that the caller keeps alive, as the `dtype` that C++ code reads.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);

/// Writes the bools of `source`, as 0 and 1, to a host view of its dtype and shape. Changes no other bytes.
MEMARRAY_API void write_valid_bools(ViewCore const& target, ViewCore const& source);

/// Returns a dense copy with bools of 0 and 1, which is reported: in Fortran order if the view is dense in that order
/// only, else in C order. `dtype`, which C++ code reads, has the view's item size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// Returns the view if its bools are valid, else `with_valid_bools`, or throws `BufferError` if `writable`.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
