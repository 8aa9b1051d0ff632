#pragma once

#include <complex>
#include <string_view>

#include <cuda/std/complex>

#include <memarray/base/dtype.hpp>

namespace memarray {

/// `cuda::std::complex` has the layout of `std::complex` and works in device code: the same dtype.
template <class T>
  requires Element<std::complex<T>>
struct dtype_traits<cuda::std::complex<T>> : dtype_traits<std::complex<T>> {
  static_assert(sizeof(cuda::std::complex<T>) == sizeof(std::complex<T>));
};

}  // namespace memarray
