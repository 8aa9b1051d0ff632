#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/scan_pieces.hpp>
#include <memarray/kernel/add_index_tuple.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/operations.hpp>
#include <memarray/kernel/reduce.hpp>

#if defined(__CUDACC__)
#include <memarray/detail/kernel/scan_device.cuh>
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray {
namespace detail {

struct RanksDiffer;  // return type of deleted overloads

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Scans `arrays.holds()[0]` to `[1]`. `from_zero`: `init` is R(). Waits for the combined value and writes it to
/// `total`, unless null.
template <class T, class R, class Op>
void scan_held(HeldArrays& arrays, std::int64_t size, R const& init, bool from_zero, Op const& op, bool is_inclusive,
               R* total) {
  static_assert(std::is_trivially_copyable_v<R>, "the value of a scan is trivially copyable");
  static_assert(
      requires(Op& mutable_op, R& value) { static_cast<R>(mutable_op(value, R(value))); },
      "the operation of a scan combines two values of the result's type");
  static_assert(check_conversion<T, R, HostScan<T, R, Op>>());
  auto const* const source = elements_at<T const>(arrays.holds()[0].source());
  auto* const target = elements_at<R>(arrays.holds()[1].target());
  HostScan<T, R, Op> scan{source, target, size, {op}, init, is_inclusive};
  arrays.mark_begun();
  if (arrays.where() == ExecutionSpace::host) {
    R const all = scan.run(scan.shared(arrays.sharing()));
    if (total) *total = all;
    return;
  }
  DeviceRun run(arrays.memory(), arrays.bound_stream(), "scanning on a device");
  if (arrays.where() == ExecutionSpace::simulated) {
    auto const kernel = [scan] {
      if (scan.size != 0) {
        testing::detail::check_load(scan.source, alignof(DeviceElement<T>));
        testing::detail::check_load(scan.target, alignof(DeviceElement<R>));
      }
      auto own = scan;
      return own.run({.threads = 1});
    };
    if (total)
      *total = result_of<R>(run, kernel);
    else
      launch_emulated(run.bound_stream(), [kernel] { static_cast<void>(kernel()); });
    return;
  }
  // Shipped sums, also for code without nvcc.
  if constexpr (std::is_same_v<T, R> && std::is_same_v<Op, plus>) {
    if (from_zero && is_shipped(dtype_of<T>()))
      return scan_on_device(dtype_of<T>(), is_inclusive, size, source, target, total, run);
  }
#if defined(__CUDACC__)
  if constexpr (adds_on_devices<T> && adds_on_devices<R>) return scan_in(run, scan, total);
#endif
  throw_not_compiled_for_device();
}

template <class T, class R, int ndim, class Op>
void scan(MemArray<T, ndim> const& array, MemArray<R, ndim>& result, StreamOrLaunch const& on, R const& init,
          bool from_zero, Op const& op, bool is_inclusive, R* total) {
  KernelHold holds[2];
  request_all(false, holds, read(array), overwrite(result));
  HeldArrays arrays(holds, on, HeldArrays::Extent::all);
  LaunchBox<ndim> box{};
  copy_common_extents(arrays, box.extents);
  scan_held<T>(arrays, box.size(), init, from_zero, op, is_inclusive, total);
  arrays.commit();
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace detail

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Sets each element of `result` to the elements of `array` up to it, converted to R and combined by `op` in C order.
/// `op` must be associative; `plus` wraps integers. On the host, results do not depend on the number of threads. Holds
/// both arrays and overwrites `result`. On a device, runs in the stream without waiting.
///
/// Throws like `for_each_index`, also `ValueError` (different shapes) and `std::bad_alloc`.
template <class T, class R, int ndim, class Op = plus>
void inclusive_scan(MemArray<T, ndim> const& array, MemArray<R, ndim>& result, StreamOrLaunch const& on, Op op = Op()) {
  detail::scan(array, result, on, R(), true, op, true, static_cast<R*>(nullptr));
}

/// Like `inclusive_scan`, but combines `init` and the elements before each, and returns `init` combined with all:
/// counts become offsets and a total. On a device, blocks until the total is there. Throws also `ValueError` (R does
/// not have the integer `init`).
template <class T, class R, int ndim, class Init = R, class Op = plus>
  requires std::is_convertible_v<Init, R>
R exclusive_scan(MemArray<T, ndim> const& array, MemArray<R, ndim>& result, StreamOrLaunch const& on, Init init,
                 Op op = Op()) {
  static_assert(detail::check_conversion<Init, R, MemArray<R, ndim>>());
  R const first = detail::initial_value<R>(init);
  R total = first;
  detail::scan(array, result, on, first, false, op, false, &total);
  return total;
}
/// Sums with the initial value 0.
template <class T, class R, int ndim>
R exclusive_scan(MemArray<T, ndim> const& array, MemArray<R, ndim>& result, StreamOrLaunch const& on) {
  R total{};
  detail::scan(array, result, on, R(), true, plus(), false, &total);
  return total;
}

// Streams are shared pointers, and elements or operations may be of `std`: unqualified calls also find the scans of
// `std`, which would match better.
template <class T, int ndim, detail::NamesStream On, class Op = plus>
void inclusive_scan(MemArray<T, ndim> const& array, MemArray<T, ndim>& result, On const& on, Op op = Op()) {
  memarray::inclusive_scan(array, result, StreamOrLaunch(on), std::move(op));
}
template <class T, int ndim, detail::NamesStream On, class Init, class Op = plus>
  requires std::is_convertible_v<Init, T>
T exclusive_scan(MemArray<T, ndim> const& array, MemArray<T, ndim>& result, On const& on, Init init, Op op = Op()) {
  return memarray::exclusive_scan(array, result, StreamOrLaunch(on), std::move(init), std::move(op));
}

// Common mistakes: compilers print the return type.
#define MEMARRAY_DETAIL_DELETE_MISTAKES(name)                                                         \
  template <class T, int ndim, class R, int rank>                                                     \
  detail::StreamIsMissing name(MemArray<T, ndim> const&, MemArray<R, rank> const&) = delete;          \
  template <class T, int ndim, class R, int rank, class... Rest>                                      \
    requires(ndim != rank)                                                                            \
  detail::RanksDiffer name(MemArray<T, ndim> const&, MemArray<R, rank> const&, StreamOrLaunch const&, \
                           Rest const&...) = delete;                                                  \
  template <class T, class R, int ndim>                                                               \
  detail::ArrayIsConst name(MemArray<T, ndim> const&, MemArray<R, ndim> const&, StreamOrLaunch const&) = delete;
MEMARRAY_DETAIL_DELETE_MISTAKES(inclusive_scan)
MEMARRAY_DETAIL_DELETE_MISTAKES(exclusive_scan)
#undef MEMARRAY_DETAIL_DELETE_MISTAKES
template <class T, class R, int ndim, class Op>
detail::ArrayIsConst inclusive_scan(MemArray<T, ndim> const&, MemArray<R, ndim> const&, StreamOrLaunch const&,
                                    Op) = delete;
template <class T, class R, int ndim, class Op = plus>
detail::ArrayIsConst exclusive_scan(MemArray<T, ndim> const&, MemArray<R, ndim> const&, StreamOrLaunch const&,
                                    std::type_identity_t<R>, Op = Op()) = delete;
template <class T, int ndim, detail::NamesStream On, class Op = plus>
detail::ArrayIsConst inclusive_scan(MemArray<T, ndim> const&, MemArray<T, ndim> const&, On const&, Op = Op()) = delete;
template <class T, int ndim, detail::NamesStream On, class Init, class Op = plus>
detail::ArrayIsConst exclusive_scan(MemArray<T, ndim> const&, MemArray<T, ndim> const&, On const&, Init,
                                    Op = Op()) = delete;

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray
