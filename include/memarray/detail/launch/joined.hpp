#pragma once

#include <memarray/base/config.hpp>

namespace memarray::detail {

/// The operation of a scan, or of a reduction on devices, with its result converted to T. CUB keeps the operation's own
/// type between values, which for small integers is int. The host's reductions convert in place: there the operation is
/// inlined.
template <class T, class Op>
struct Joined {
  Op op;

#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // std::complex: called by host code only
#endif
  [[nodiscard]] MEMARRAY_HD T operator()(T const& left, T const& right) { return static_cast<T>(op(left, right)); }
};

}  // namespace memarray::detail
