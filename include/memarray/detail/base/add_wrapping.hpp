#pragma once

#include <memarray/base/config.hpp>

#include <type_traits>

namespace memarray::detail {

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // std::complex is added only on the host, by host code
#endif
/// Returns NumPy's sum: integers wrap, even signed ones, which is undefined in C++.
template <class T>
[[nodiscard]] MEMARRAY_HD constexpr T add_wrapping(T left, T right) {
  if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right)));
  } else {
    return static_cast<T>(left + right);
  }
}

}  // namespace memarray::detail
