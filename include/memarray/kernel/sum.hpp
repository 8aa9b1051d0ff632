#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/operations.hpp>
#include <memarray/kernel/reduce.hpp>

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray {

namespace detail {

/// The 64-bit type of T's kind.
template <class T>
struct SumOf {
  using type = std::conditional_t<std::signed_integral<T>, std::int64_t,
                                  std::conditional_t<std::integral<T>, std::uint64_t, double>>;
};
template <class T>
struct SumOf<std::complex<T>> {
  using type = std::complex<double>;
};

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// A sum on a device by shipped kernels, which need no nvcc.
template <class T>
struct RunSum {
  using Sum = typename SumOf<T>::type;
  Sum* result;

  template <class Kernel>
  void operator()(HeldLaunch& launch, Kernel const& kernel) const {
    using Reduction = ReduceKernel<Sum, plus, Kernel>;
    if (launch.where() != ExecutionSpace::device) {
      Reduction const reduction{kernel, plus(), Sum{}};
      return launch.reduce(Reduction::code, &reduction, result);
    }
    launch.begin();
    DeviceRun run(launch.memory(), launch.bound_stream(), "summing on a device");
    sum_on_device(dtype_of<T>(), launch.size(), get<0>(kernel.arguments).source, result, run);
  }
};

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace detail

/// Returns the sum of all elements: integers modulo 2^64, floating-point numbers in double precision. Locks, waits and
/// throws like `reduce`.
template <class T, int ndim>
[[nodiscard]] typename detail::SumOf<T>::type sum(MemArray<T, ndim> const& array, StreamOrLaunch const& on,
                                                  std::int64_t lock_id = -1) {
  using Sum = typename detail::SumOf<T>::type;
  Sum result{};
  detail::LaunchBox<ndim> box{};
  detail::launch_whole(on, detail::ConvertTo<Sum>(), detail::RunSum<T>{&result}, box, read(array, lock_id));
  return result;
}
template <class T, int ndim>
detail::StreamIsMissing sum(MemArray<T, ndim> const&) = delete;

}  // namespace memarray
