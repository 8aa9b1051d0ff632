#pragma once

#include <complex>
#include <string_view>

#include <cuda/std/complex>

#include <memarray/base/dtype.hpp>

namespace memarray {

/// The dtype of `cuda::std::complex` is that of `std::complex`.
template <class T>
  requires Element<std::complex<T>>
struct dtype_traits<cuda::std::complex<T>> : dtype_traits<std::complex<T>> {
  static_assert(sizeof(cuda::std::complex<T>) == sizeof(std::complex<T>));
};

}  // namespace memarray
