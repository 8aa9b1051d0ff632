#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/view/view_core.hpp>

namespace memarray::detail {

/// True for bools, and for structs whose fields include one.
[[nodiscard]] MEMARRAY_API bool has_bools(DType const& dtype) noexcept;

/// True if a bool of the elements may be a byte that is neither 0 nor 1, which C++ code must not read as a bool: memory
/// of the host that another library wrote. Reads every bool.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(ViewCore const& view);
/// The same of elements on the host that no view keeps. `dtype`: the one that C++ code reads.
[[nodiscard]] MEMARRAY_API bool has_invalid_bools(DType const& dtype, std::byte const* data,
                                                  StridedLayout const& layout);

/// Writes the bools of `source` as 0 and 1 to a host view of the same dtype and shape, whose other bytes stay.
MEMARRAY_API void write_valid_bools(ViewCore const& target, ViewCore const& source);

/// A dense copy in which each bool that is not 0 is 1, in C order, or in Fortran order where only that is the view's.
/// Reported. `dtype`: as above, with the view's size.
[[nodiscard]] MEMARRAY_API ViewCore with_valid_bools(ViewCore const& view, DType const& dtype);

/// The view itself, or `with_valid_bools` of one that is read only and has invalid ones. Throws `BufferError` if they
/// are to be written.
[[nodiscard]] MEMARRAY_API ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable);

}  // namespace memarray::detail
