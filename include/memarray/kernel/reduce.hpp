#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/kernel/initial_value.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/detail/launch/reduce_kernel.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/operations.hpp>
#include <memarray/kernel/range.hpp>

#if defined(__CUDACC__)
#include <memarray/detail/kernel/reduce_device.cuh>
#endif

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace memarray {
namespace detail {

struct TypesOrRanksDiffer;  // return type of deleted overloads

/// Throws `ValueError`.
[[noreturn]] MEMARRAY_API void throw_no_extreme(char const* what, ArrayState const& state);

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// False for `std::complex`, whose functions are host-only; `cuda::std::complex` has them everywhere.
template <class T>
inline constexpr bool adds_on_devices = true;
template <class T>
inline constexpr bool adds_on_devices<std::complex<T>> = false;

/// A reduction of a kernel's results to host memory, which waits; without `waits`, to memory where the arrays are.
template <class T, class Op, bool waits = true>
struct RunReduction {
  T init;
  Op op;
  T* result;

  template <class Kernel>
  void operator()(HeldLaunch& launch, Kernel const& kernel) const {
    using Reduction = ReduceKernel<T, Op, Kernel>;
    Reduction const reduction{kernel, op, init};
    if (launch.where() != ExecutionSpace::device) {
      if constexpr (waits)
        launch.reduce(Reduction::code, &reduction, result);
      else
        launch.reduce_into(Reduction::code, &reduction, result);
      return;
    }
    launch.begin();
#if defined(__CUDACC__)
    if constexpr (adds_on_devices<T> && waits)
      return reduce_on_device(reduction, launch, result);
    else if constexpr (adds_on_devices<T>)
      return reduce_on_device_into(reduction, launch, result);
#endif
    throw_not_compiled_for_device();
  }
};

/// A reduction to an array that is held with the others.
template <class T, class Op, class Result>
struct RunReductionInto {
  T init;
  Op op;
  Result result_array;

  template <class Kernel>
  void operator()(HeldLaunch& launch, Kernel const& kernel) const {
    RunReduction<T, Op, false>{init, op, elements_at<T>(launch.result())}(launch, kernel);
  }
};

/// `User` gives each use its own error.
template <class T, class User>
constexpr void check_value() {
  static_assert(std::is_trivially_copyable_v<T>, "the value of a reduction is trivially copyable");
  static_assert(std::is_copy_assignable_v<T>, "the value of a reduction can be assigned");
}

template <int ndim, class T, class Op, class F, class... Access>
[[nodiscard]] T reduce_box(LaunchBox<ndim> const& box, HeldArrays::Extent extent, StreamOrLaunch const& on,
                           T const& init, Op const& op, F const& f, Access const&... accesses) {
  check_value<T, F>();
  T result = init;
  check_and_launch(box, extent, on, f, RunReduction<T, Op>{init, op, &result}, accesses...);
  return result;
}
template <int ndim, class T, int rank, class Op, class F, class... Access>
void reduce_box_into(MemArray<T, rank>& result, LaunchBox<ndim> const& box, HeldArrays::Extent extent,
                     StreamOrLaunch const& on, T const& init, Op const& op, F const& f, Access const&... accesses) {
  check_value<T, F>();
  auto const to = overwrite(result);
  check_and_launch(box, extent, on, f, RunReductionInto<T, Op, decltype(overwrite(result))>{init, op, to}, accesses...);
}

/// Reduces whole arrays of one shape as one dimension. Writes the shape to `box`.
template <int ndim, class T, class Op, class F, class... Access>
void reduce_whole(StreamOrLaunch const& on, T const& init, Op const& op, F const& f, T* result, LaunchBox<ndim>& box,
                  Access const&... accesses) {
  launch_whole(on, f, RunReduction<T, Op>{init, op, result}, box, accesses...);
}

// Functors for `reduce_whole`.
template <class To>
struct ConvertTo {
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // std::complex: called by host code only
#endif
  template <class T>
  [[nodiscard]] MEMARRAY_HD To operator()(IndexArray<std::int64_t, 1> const&, T const& element) const {
    return static_cast<To>(element);
  }
};
template <class T>
struct Multiply {
#if defined(__CUDACC__)
#pragma nv_exec_check_disable  // std::complex: called by host code only
#endif
  /// Integers wrap, like their sums.
  [[nodiscard]] MEMARRAY_HD T operator()(IndexArray<std::int64_t, 1> const&, T const& a, T const& b) const {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Unsigned = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // smaller ones would become `int`
      return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
    } else {
      return static_cast<T>(a * b);
    }
  }
};

template <class T>
struct Extremes {
  T least;
  T largest;
};
struct CombineExtremes {
  template <class T>
  [[nodiscard]] MEMARRAY_HD Extremes<T> operator()(Extremes<T> const& left, Extremes<T> const& right) const {
    return {minimum()(left.least, right.least), maximum()(left.largest, right.largest)};
  }
};
struct ToExtremes {
  template <class T>
  [[nodiscard]] MEMARRAY_HD Extremes<T> operator()(IndexArray<std::int64_t, 1> const&, T const& element) const {
    return {element, element};
  }
};

template <class T>
[[nodiscard]] constexpr T lowest_value() noexcept {
  using Limits = std::numeric_limits<T>;
  static_assert(Limits::is_specialized, "min and max need elements with an order, and their numeric_limits");
  return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
}
template <class T>
[[nodiscard]] constexpr T highest_value() noexcept {
  using Limits = std::numeric_limits<T>;
  static_assert(Limits::is_specialized, "min and max need elements with an order, and their numeric_limits");
  return Limits::has_infinity ? Limits::infinity() : Limits::max();
}

/// Throws `ValueError` without elements.
template <class Value, class T, int ndim, class Op, class F>
[[nodiscard]] Value reduce_elements(char const* what, MemArray<T, ndim> const& array, StreamOrLaunch const& on,
                                    std::int64_t lock_id, Value const& none, Op const& op, F const& f) {
  Value found = none;
  LaunchBox<ndim> box{};
  reduce_whole(on, none, op, f, &found, box, read(array, lock_id));
  for (std::int64_t const extent : box.extents)
    if (extent == 0) throw_no_extreme(what, array.state());
  return found;
}

/// `position` is −1 for none.
template <class T>
struct Located {
  T value;
  std::int64_t position;
};
/// The choice of the first NaN, else the first extreme of `Op`.
template <class Op>
struct ChooseLocated {
  template <class T>
  [[nodiscard]] MEMARRAY_HD Located<T> operator()(Located<T> const& left, Located<T> const& right) const {
    if (left.position < 0) return right;
    if (right.position < 0) return left;
    bool const left_is_nan = is_nan(left.value);
    bool const right_is_nan = is_nan(right.value);
    bool const first_is_left = left.position < right.position;
    if (left_is_nan && right_is_nan) return first_is_left ? left : right;
    if (left_is_nan || right_is_nan) return left_is_nan ? left : right;
    if (!(left.value < right.value) && !(right.value < left.value)) return first_is_left ? left : right;
    return (left.value < right.value) == std::is_same_v<Op, minimum> ? left : right;
  }
};
struct ToLocated {
  template <class T>
  [[nodiscard]] MEMARRAY_HD Located<T> operator()(IndexArray<std::int64_t, 1> const& index, T const& element) const {
    return {element, index[0]};
  }
};

template <class T, int ndim>
[[nodiscard]] typename MemArray<T, ndim>::Shape position_of_extreme(char const* what, MemArray<T, ndim> const& array,
                                                                    StreamOrLaunch const& on, std::int64_t lock_id,
                                                                    auto choose) {
  static_assert(requires(T const& value) { value < value; }, "argmin and argmax need elements with an order");
  Located<T> found{T(), -1};
  LaunchBox<ndim> box{};
  reduce_whole(on, Located<T>{T(), -1}, choose, ToLocated(), &found, box, read(array, lock_id));
  if (found.position < 0) throw_no_extreme(what, array.state());
  BoxPosition<ndim> const position(box, found.position);
  typename MemArray<T, ndim>::Shape indices{};
  for (std::size_t d = 0; d < indices.size(); ++d) indices[d] = position.offsets[d];
  return indices;
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
template <>
inline constexpr bool is_cheap<plus> = true;
template <>
inline constexpr bool is_cheap<minimum> = true;
template <>
inline constexpr bool is_cheap<maximum> = true;
template <>
inline constexpr bool is_cheap<logical_and> = true;
template <>
inline constexpr bool is_cheap<logical_or> = true;
template <>
inline constexpr bool is_cheap<CombineExtremes> = true;
template <class Op>
inline constexpr bool is_cheap<ChooseLocated<Op>> = true;
template <class To>
inline constexpr bool is_cheap<ConvertTo<To>> = true;
template <class T>
inline constexpr bool is_cheap<Multiply<T>> = true;
template <>
inline constexpr bool is_cheap<ToExtremes> = true;
template <>
inline constexpr bool is_cheap<ToLocated> = true;

}  // namespace detail

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Combines `init` and the results of `f(indices, a, b, …)` for each index of `shape` with `op`. The results of `f` and
/// `op` are converted to T, the type of `init`: for sums in 64 bits give `std::int64_t{0}`. Blocks until the value is
/// there; otherwise like `for_each_index`.
///
/// `op` must be associative and commutative, T trivially copyable. On the host the order is fixed (pieces of at most
/// 4,096 positions, rows, lanes), so results do not depend on the number of threads. On one device, every run gives the
/// same result (CUB).
template <std::size_t ndim, class T, class Op, class F, class... Access>
[[nodiscard]] T transform_reduce(std::array<std::int64_t, ndim> const& shape, StreamOrLaunch const& on, T init, Op op,
                                 F f, Access const&... accesses) {
  return detail::reduce_box(detail::box_of({}, shape), detail::HeldArrays::Extent::all, on, init, op, f, accesses...);
}
template <std::size_t ndim, class T, class Op, class F, class... Access>
[[nodiscard]] T transform_reduce(Index const (&shape)[ndim], StreamOrLaunch const& on, T init, Op op, F f,
                                 Access const&... accesses) {
  return transform_reduce(detail::to_extents(shape), on, init, op, std::move(f), accesses...);
}
template <std::size_t ndim, class T, class Op, class F, class... Access>
[[nodiscard]] T transform_reduce(Range<ndim> const& range, StreamOrLaunch const& on, T init, Op op, F f,
                                 Access const&... accesses) {
  return detail::reduce_box(detail::box_of(range), detail::HeldArrays::Extent::part, on, init, op, f, accesses...);
}

/// Like `transform_reduce`, but writes the value to `result`, an array of one element on the same device, and does not
/// wait there. Throws also `ValueError` (another size) and `LockError` (`result` is also read).
template <std::size_t ndim, class T, int rank, class Op, class F, class... Access>
void transform_reduce_into(MemArray<T, rank>& result, std::array<std::int64_t, ndim> const& shape,
                           StreamOrLaunch const& on, std::type_identity_t<T> init, Op op, F f,
                           Access const&... accesses) {
  detail::reduce_box_into(result, detail::box_of({}, shape), detail::HeldArrays::Extent::all, on, init, op, f,
                          accesses...);
}
template <std::size_t ndim, class T, int rank, class Op, class F, class... Access>
void transform_reduce_into(MemArray<T, rank>& result, Index const (&shape)[ndim], StreamOrLaunch const& on,
                           std::type_identity_t<T> init, Op op, F f, Access const&... accesses) {
  transform_reduce_into(result, detail::to_extents(shape), on, init, op, std::move(f), accesses...);
}
template <std::size_t ndim, class T, int rank, class Op, class F, class... Access>
void transform_reduce_into(MemArray<T, rank>& result, Range<ndim> const& range, StreamOrLaunch const& on,
                           std::type_identity_t<T> init, Op op, F f, Access const&... accesses) {
  detail::reduce_box_into(result, detail::box_of(range), detail::HeldArrays::Extent::part, on, init, op, f,
                          accesses...);
}

/// Combines `init` and all elements with `op`, like `transform_reduce`, in the type of `init`. If that is an integer
/// without all values of the elements, such as the `int` of a literal 0, their common type is used. `lock_id`: that of
/// the caller's write lease, or −1. Throws like `transform_reduce`, also `ValueError` (`init` is negative, the common
/// type unsigned).
template <class T, int ndim, class Init, class Op>
[[nodiscard]] detail::Reduced<T, Init> reduce(MemArray<T, ndim> const& array, StreamOrLaunch const& on, Init init,
                                              Op op, std::int64_t lock_id = -1) {
  using Value = detail::Reduced<T, Init>;
  detail::check_value<Value, MemArray<T, ndim>>();
  static_assert(detail::check_conversion<T, Value, MemArray<T, ndim>>());
  static_assert(!(std::signed_integral<T> && std::unsigned_integral<Value> && !std::is_same_v<Value, bool>),
                "the elements are signed, and the result is unsigned: give an initial value such as std::int64_t{0}");
  auto const first = detail::initial_value<Value>(init);
  Value result = first;
  detail::LaunchBox<ndim> box{};
  detail::reduce_whole(on, first, op, detail::ConvertTo<Value>(), &result, box, read(array, lock_id));
  return result;
}

/// Returns the smallest and the largest element; both NaN if there is one. Like `reduce`; throws also `ValueError` (no
/// elements).
template <class T, int ndim>
[[nodiscard]] std::pair<T, T> minmax(MemArray<T, ndim> const& array, StreamOrLaunch const& on,
                                     std::int64_t lock_id = -1) {
  detail::Extremes<T> const none{detail::highest_value<T>(), detail::lowest_value<T>()};
  detail::Extremes<T> const found =
      detail::reduce_elements("minmax", array, on, lock_id, none, detail::CombineExtremes(), detail::ToExtremes());
  return {found.least, found.largest};
}

/// Like `minmax`, for the smallest element.
template <class T, int ndim>
[[nodiscard]] T min(MemArray<T, ndim> const& array, StreamOrLaunch const& on, std::int64_t lock_id = -1) {
  return detail::reduce_elements("min", array, on, lock_id, detail::highest_value<T>(), minimum(),
                                 detail::ConvertTo<T>());
}
/// Like `minmax`, for the largest element.
template <class T, int ndim>
[[nodiscard]] T max(MemArray<T, ndim> const& array, StreamOrLaunch const& on, std::int64_t lock_id = -1) {
  return detail::reduce_elements("max", array, on, lock_id, detail::lowest_value<T>(), maximum(),
                                 detail::ConvertTo<T>());
}
/// Returns the indices of the first NaN, else of the first smallest element. Throws like `minmax`.
template <class T, int ndim>
[[nodiscard]] typename MemArray<T, ndim>::Shape argmin(MemArray<T, ndim> const& array, StreamOrLaunch const& on,
                                                       std::int64_t lock_id = -1) {
  return detail::position_of_extreme("argmin", array, on, lock_id, detail::ChooseLocated<minimum>());
}
/// Like `argmin`, for the largest element.
template <class T, int ndim>
[[nodiscard]] typename MemArray<T, ndim>::Shape argmax(MemArray<T, ndim> const& array, StreamOrLaunch const& on,
                                                       std::int64_t lock_id = -1) {
  return detail::position_of_extreme("argmax", array, on, lock_id, detail::ChooseLocated<maximum>());
}

/// Returns the sum of the products of corresponding elements, in their type. Like `reduce`; throws also `ValueError`
/// (different shapes).
template <class T, int ndim>
[[nodiscard]] T dot(MemArray<T, ndim> const& a, MemArray<T, ndim> const& b, StreamOrLaunch const& on,
                    std::int64_t lock_id_of_a = -1, std::int64_t lock_id_of_b = -1) {
  T result{};
  detail::LaunchBox<ndim> box{};
  detail::reduce_whole(on, T{}, plus(), detail::Multiply<T>(), &result, box, read(a, lock_id_of_a),
                       read(b, lock_id_of_b));
  return result;
}

// Common mistakes: compilers print the return type.
template <class T, int ndim, class U, int rank>
detail::TypesOrRanksDiffer dot(MemArray<T, ndim> const&, MemArray<U, rank> const&, StreamOrLaunch const&) = delete;
template <class T, int ndim, class U, int rank>
detail::StreamIsMissing dot(MemArray<T, ndim> const&, MemArray<U, rank> const&) = delete;
template <class T, int rank, class Where, class Init, class Op, class F, class... Access>
  requires(!std::is_convertible_v<Init const&, StreamOrLaunch>)
detail::StreamIsMissing transform_reduce_into(MemArray<T, rank>&, Where const&, Init const&, Op const&, F const&,
                                              Access const&...) = delete;
template <class T, int rank, std::size_t ndim, class Init, class Op, class F, class... Access>
  requires(!std::is_convertible_v<Init const&, StreamOrLaunch>)
detail::StreamIsMissing transform_reduce_into(MemArray<T, rank>&, Index const (&)[ndim], Init const&, Op const&,
                                              F const&, Access const&...) = delete;
template <class T, int rank, class Where, class... Rest>
detail::ArrayIsConst transform_reduce_into(MemArray<T, rank> const&, Where const&, StreamOrLaunch const&,
                                           std::type_identity_t<T>, Rest const&...) = delete;
template <class T, int rank, std::size_t ndim, class... Rest>
detail::ArrayIsConst transform_reduce_into(MemArray<T, rank> const&, Index const (&)[ndim], StreamOrLaunch const&,
                                           std::type_identity_t<T>, Rest const&...) = delete;
template <class T, int ndim, class Value, class Op>
  requires(!std::is_convertible_v<Value const&, StreamOrLaunch>)
detail::StreamIsMissing reduce(MemArray<T, ndim> const&, Value const&, Op const&) = delete;
#define MEMARRAY_DELETE_MISTAKE(name) \
  template <class T, int ndim>        \
  detail::StreamIsMissing name(MemArray<T, ndim> const&) = delete;
MEMARRAY_DELETE_MISTAKE(minmax)
MEMARRAY_DELETE_MISTAKE(min)
MEMARRAY_DELETE_MISTAKE(max)
MEMARRAY_DELETE_MISTAKE(argmin)
MEMARRAY_DELETE_MISTAKE(argmax)
#undef MEMARRAY_DELETE_MISTAKE

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray
