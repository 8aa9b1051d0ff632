#pragma once

#include <memarray/base/dtype.hpp>

#include <cuda/std/complex>

#include <complex>

namespace memarray::detail {

/// The type that stands for T in device code: the same layout, with functions that work there.
template <class T>
struct DeviceTypeOf {
  using type = T;
};
template <class T>
struct DeviceTypeOf<std::complex<T>> {
  using type = cuda::std::complex<T>;
};
template <class T>
using DeviceType = typename DeviceTypeOf<T>::type;

}  // namespace memarray::detail
