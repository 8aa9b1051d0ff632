#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// The operation of a reduction or scan on devices, with its result converted to T as on the host. CUB keeps the
/// operation's own type in between, which for small integers is int.
template <class T, class Op>
struct Joined {
  Op op;

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // std::complex: called by host code only
#endif
  [[nodiscard]] MEMARRAY_HD T operator()(T const& left, T const& right) { return static_cast<T>(op(left, right)); }
};

}  // namespace memarray::detail
