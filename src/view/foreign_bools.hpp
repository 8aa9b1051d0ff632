#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

#include "strided/valid_bools.hpp"

namespace memarray::detail {

/// True if a bool's byte is neither 0 nor 1, which C++ code must not read. Reads every bool, in foreign host memory
/// only.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view);

/// Returns a reported dense copy with bools of 0 and 1: in Fortran order if the view is dense in that order only, else
/// in C order. `dtype`, as C++ code reads the elements, has the view's item size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// Returns the view if its bools are valid, else `with_valid_bools`, or throws `BufferError` if `writable`.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
