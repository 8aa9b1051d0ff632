#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// True for bool, and for structs with a bool field.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;

/// True if the view has a bool whose byte is neither 0 nor 1, which C++ code must not read as a bool. Only host memory
/// of another library can have one. Reads every bool.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view);
/// True if elements on the host, kept alive by the caller, have such a bool. `dtype`: the dtype that C++ code reads.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);

/// Writes the bools of `source` as 0 and 1 to a host view of the same dtype and shape. Leaves all other bytes
/// unchanged.
MEMARRAY_API void write_valid_bools(ViewCore const& target, ViewCore const& source);

/// Returns a dense copy in which each bool that is not 0 is 1; the copy is reported. It is in Fortran order if the view
/// is dense in Fortran order only, else in C order. `dtype`: the dtype that C++ code reads, of the view's item size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// Returns the view if its bools are valid, else its `with_valid_bools`. Throws `BufferError` for invalid bools if
/// `writable`.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
