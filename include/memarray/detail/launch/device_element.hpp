#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>

#include <complex>

namespace memarray::detail {

/// A complex number aligned to its parts, like imported memory. A GPU loads `cuda::std::complex` only if aligned to its
/// whole size.
template <class T>
struct DeviceComplex {
  T real{};
  T imag{};

  DeviceComplex() = default;
  template <class Real>
    requires requires(Real const& value) { static_cast<T>(value); }
  MEMARRAY_HD constexpr explicit DeviceComplex(Real const& value) : real(static_cast<T>(value)) {}
  template <class Other>
  MEMARRAY_HD constexpr explicit DeviceComplex(DeviceComplex<Other> const& other)
      : real(static_cast<T>(other.real)), imag(static_cast<T>(other.imag)) {}

  MEMARRAY_HD friend constexpr DeviceComplex operator+(DeviceComplex const& left, DeviceComplex const& right) {
    DeviceComplex sum;
    sum.real = left.real + right.real;
    sum.imag = left.imag + right.imag;
    return sum;
  }
};

/// T in shipped kernels, aligned no more strictly than its dtype.
template <class T>
struct DeviceElementOf {
  using type = T;
};
template <class T>
struct DeviceElementOf<std::complex<T>> {
  using type = DeviceComplex<T>;
};
template <class T>
using DeviceElement = typename DeviceElementOf<T>::type;

#define MEMARRAY_CHECK_ELEMENT(type, name, code, bits)        \
  static_assert(sizeof(DeviceElement<type>) == sizeof(type)); \
  static_assert(alignof(DeviceElement<type>) <= dtype_traits<type>::value.alignment);
MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_CHECK_ELEMENT)
#undef MEMARRAY_CHECK_ELEMENT

}  // namespace memarray::detail
