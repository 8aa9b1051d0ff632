#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/kernel/for_each_index.hpp>

#include <cstdint>
#include <type_traits>

namespace memarray {

namespace detail {

struct AddIndex {
  template <class T, class Indices>
  MEMARRAY_HD void operator()(T& element, Indices const& indices) const {
    auto sum = indices[0];
    for (std::size_t d = 1; d < indices.size(); ++d) sum += indices[d];
    element = add_wrapping(element, static_cast<T>(sum));
  }
};

/// Throws `UnsupportedTypeError` unless shipped.
MEMARRAY_API void add_index_tuple(ArrayState& state, StreamChoice const& stream);
[[nodiscard]] MEMARRAY_API bool is_shipped(DType const& dtype) noexcept;

}  // namespace detail

/// Adds to each element the sum of its indices, on host threads or in `stream` on the array's device. `stream`: a
/// number as in `StreamChoice`. Escaped views keep the old contents. Throws `LockError` (held), `ValueError` (`stream`
/// below −1), `CudaError`, `OutOfMemoryError`.
template <class T, int ndim>
void add_index_tuple(MemArray<T, ndim>& array, std::int64_t stream = 0) {
  StreamChoice const choice = StreamChoice::numbered(stream);
  if constexpr (requires { dtype_traits<T>::value; } && ndim <= 6)
    detail::add_index_tuple(array.state(), choice);
  else
    for_each_index(array, array.get_on_device() ? choice.get() : default_stream(), detail::AddIndex{});
}

}  // namespace memarray
