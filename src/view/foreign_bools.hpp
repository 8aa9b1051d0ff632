#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

#include "strided/valid_bools.hpp"

namespace memarray::detail {

/// True if a bool's byte is neither 0 nor 1, which C++ code must not read. Reads every bool, in foreign memory only,
/// and waits for that on a device. False for devices' memory if memarray was built without nvcc. `dtype`: as C++ code
/// reads the elements.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view, DType const& dtype);
[[nodiscard]] inline bool has_invalid_bools(ViewCore const& view) { return has_invalid_bools(view, view.dtype()); }

/// Returns a reported dense copy with bools of 0 and 1: in Fortran order if the view is dense in that order only, else
/// in C order. `dtype` has the view's item size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// Returns the view if its bools are valid, else `with_valid_bools`, or throws `BufferError` if `writable`.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
