#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/kernel/kernel_launch.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/range.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace memarray {
namespace detail {

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

template <class Call>
struct Parameters;
#define MEMARRAY_PARAMETERS(qualifiers)                \
  template <class F, class Result, class... Parameter> \
  struct Parameters<Result (F::*)(Parameter...) qualifiers> : std::type_identity<std::tuple<Parameter...>> {};
MEMARRAY_PARAMETERS()
MEMARRAY_PARAMETERS(const)
MEMARRAY_PARAMETERS(noexcept)
MEMARRAY_PARAMETERS(const noexcept)
#undef MEMARRAY_PARAMETERS

/// True if the functor takes that parameter by value; false for templates.
template <class F, std::size_t parameter>
[[nodiscard]] constexpr bool takes_copy() {
  if constexpr (requires { typename Parameters<decltype(&F::operator())>::type; }) {
    using Types = typename Parameters<decltype(&F::operator())>::type;
    if constexpr (parameter < std::tuple_size_v<Types>)
      return !std::is_reference_v<std::tuple_element_t<parameter, Types>>;
  }
  return false;
}

template <class F>
struct ElementFirst;
/// The user's functor without wrappers. `first`: its first array parameter.
template <class F>
struct UsersFunctor : std::type_identity<F> {
  static constexpr std::size_t first = 1;
};
template <class F, bool narrow, bool wide>
struct UsersFunctor<WithOneIndex<F, narrow, wide>> : UsersFunctor<F> {};
template <class F>
struct UsersFunctor<ElementFirst<F>> : std::type_identity<F> {
  static constexpr std::size_t first = 0;
};

template <class Argument>
inline constexpr bool is_element = false;
template <class T, int ndim>
inline constexpr bool is_element<ElementArgument<T, ndim>> = true;
template <class T, int ndim>
inline constexpr bool is_element<StridedElementArgument<T, ndim>> = true;

/// Fails to compile if an element to update is taken by value, so that changes are lost.
template <class IndexT, int ndim, class F, class... Arguments>
constexpr void check_references(HostKernel<IndexT, ndim, F, Arguments...> const&) {
  using Users = UsersFunctor<F>;
  constexpr bool copies = []<std::size_t... a>(std::index_sequence<a...>) {
    return ((is_element<Arguments> && takes_copy<typename Users::type, Users::first + a>()) || ...);
  }(std::index_sequence_for<Arguments...>());
  static_assert(!copies, "the functor takes an element of an update array by reference: double& x");
}

struct RunLoop {
  template <class Kernel>
  void operator()(HeldLaunch& launch, Kernel const& kernel) const {
    check_references(kernel);
    if (launch.where() != ExecutionSpace::device) return launch.run(Kernel::code, &kernel);
    launch.begin();
#if defined(__CUDACC__)
    launch_device(kernel, launch.is_whole(), launch.bound_stream());
#else
    throw_not_compiled_for_device();
#endif
  }
};

/// True if `f(element, i)` has a constrained template for its index.
template <class F, class T>
inline constexpr bool has_template_index =
    std::is_invocable_v<F&, T&, std::int64_t> && !std::is_invocable_v<F&, T&, OneIndex<std::int32_t>> &&
    !std::is_invocable_v<F&, T&, OneIndex<std::int64_t>> && !std::is_invocable_v<F&, T&, LossyIndex>;

/// A functor that calls `f(element, indices)`, or `f(element, i)` in one dimension.
template <class F>
struct ElementFirst {
  F f;
  template <class Indices, class T>
    requires std::is_invocable_v<F&, T&, Indices const&>
  MEMARRAY_HD void operator()(Indices const& indices, T& element) {
    f(element, indices);
  }
  template <class IndexT, class T>
    requires(!std::is_invocable_v<F&, T&, IndexArray<IndexT, 1> const&> &&
             std::is_invocable_v<F&, T&, OneIndex<IndexT>>)
  MEMARRAY_HD void operator()(IndexArray<IndexT, 1> const& index, T& element) {
    f(element, OneIndex<IndexT>{index[0]});
  }
  template <class IndexT, class T>
    requires(!std::is_invocable_v<F&, T&, IndexArray<IndexT, 1> const&> && has_template_index<F, T>)
  MEMARRAY_HD void operator()(IndexArray<IndexT, 1> const& index, T& element) {
    f(element, index[0]);
  }
};

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace detail

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Calls `f(indices, a, b, …)` once for each index of `shape`, in parallel and in any order. It runs where the arrays
/// are: on host threads, or as a CUDA kernel in the stream. Arrays are given as `read(a)`, `write(b)`, `overwrite(c)`
/// or `update(d)`. An `update` array has this shape; an `overwrite` array has it as its first extents.
///
/// `indices` is a `cuda::std::array` of `std::int64_t`; a templated call operator gets 32-bit indices if they suffice.
/// In one dimension, `f` may take a 32- or 64-bit integer.
///
/// Acquires all arrays or throws, and holds them during the call. On a device, the stream first waits for their pending
/// work, and the call returns when the kernel is submitted. If `f` throws, other calls may have run; arrays with
/// escaped views keep their old contents.
///
/// Throws `LockError` (held elsewhere; given twice, not only to read), `ValueError` (null stream; negative extent,
/// `threads` or `grain`; closed view; `update` or `overwrite` array that does not fit, or view whose indices share
/// elements), `BufferError` (memory not aligned for the type), `Error` (different devices), `OverflowError`,
/// `CudaError`, `OutOfMemoryError`.
template <std::size_t ndim, class F, class... Access>
void for_each_index(std::array<std::int64_t, ndim> const& shape, StreamOrLaunch const& on, F f,
                    Access const&... accesses) {
  detail::check_and_launch(detail::box_of({}, shape), detail::HeldArrays::Extent::all, on, f, detail::RunLoop(),
                           accesses...);
}

template <std::size_t ndim, class F, class... Access>
void for_each_index(Index const (&shape)[ndim], StreamOrLaunch const& on, F f, Access const&... accesses) {
  for_each_index(detail::to_extents(shape), on, std::move(f), accesses...);
}

/// Visits a range. `update` and `overwrite` arrays must contain it, and keep their other elements, which are copied
/// under escaped views.
template <std::size_t ndim, class F, class... Access>
void for_each_index(Range<ndim> const& range, StreamOrLaunch const& on, F f, Access const&... accesses) {
  detail::check_and_launch(detail::box_of(range), detail::HeldArrays::Extent::part, on, f, detail::RunLoop(),
                           accesses...);
}

/// Calls `f(element, indices)` once for each element of `array`, as an `update`. `lock_id`: that of the caller's write
/// lease, or −1.
template <class T, int ndim, class F>
void for_each_index(MemArray<T, ndim>& array, StreamOrLaunch const& on, F f, std::int64_t lock_id = -1) {
  detail::launch_over(update(array, lock_id), on, detail::ElementFirst<F>{std::move(f)}, detail::RunLoop());
}

/// Like the form for an array, for a view.
template <class T, int ndim, ViewOptions options, class F>
void for_each_index(ArrayView<T, ndim, options> const& view, StreamOrLaunch const& on, F f) {
  static_assert(!std::is_const_v<T>, "a view of const elements is only read: for_each_index(shape, …, read(view))");
  detail::launch_over(update(view), on, detail::ElementFirst<F>{std::move(f)}, detail::RunLoop());
}
/// Throws also `TypeError` (another dtype or rank): `for_each_index<float, 2>(view, stream, f)`.
template <class T, int ndim, class F>
void for_each_index(BufferView const& view, StreamOrLaunch const& on, F f) {
  detail::launch_over(update<T, ndim>(view), on, detail::ElementFirst<F>{std::move(f)}, detail::RunLoop());
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE

// Common mistakes: compilers print the return type.
template <class T, int ndim, class F>
detail::ArrayIsConst for_each_index(MemArray<T, ndim> const&, StreamOrLaunch const&, F, std::int64_t = -1) = delete;
template <class T, int ndim, class F>
detail::ElementsAreConst for_each_index(ConstBufferView const&, StreamOrLaunch const&, F) = delete;
template <class Byte, class F>
detail::ElementTypeAndRankAreMissing for_each_index(BasicBufferView<Byte> const&, StreamOrLaunch const&, F) = delete;
template <class Array, class F>
detail::StreamIsMissing for_each_index(Array const&, F const&) = delete;

}  // namespace memarray
