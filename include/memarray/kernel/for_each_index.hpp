#pragma once

#include <memarray/array/access.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/launch_host.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cuda/std/array>
#include <cuda/std/tuple>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace memarray {
namespace detail {

[[noreturn]] MEMARRAY_API void throw_shape_mismatch(ArrayState const& state, Extents launch);
[[noreturn]] MEMARRAY_API void throw_given_twice(ArrayState const& state);
/// Throws `Error`, which names the move to make, unless all arrays are on one device. Needs no lock.
MEMARRAY_API void check_one_device(std::span<ArrayState const* const> states);
/// Returns where a kernel over the arrays runs: where they are current. The caller holds them. Throws what
/// `check_one_device` throws.
[[nodiscard]] MEMARRAY_API ExecutionSpace where_all_are(std::span<ArrayState const* const> states);
template <class... S>
[[nodiscard]] ExecutionSpace where_all_are(S const&... states) {
  ArrayState const* const all[] = {&states...};
  return where_all_are(std::span<ArrayState const* const>(all));
}
/// Commits the holds together. On a device, one event stands for the end of their kernel.
template <class First, class... Rest>
void commit_all(First& first, Rest&... rest) noexcept {
  if (!first.state().residency().on_device()) {
    first.commit();
    (rest.commit(), ...);
    return;
  }
  PendingWork const end = first.end();
  first.commit(end);
  (rest.commit(end), ...);
}

// Launch code differs between compilers.
inline namespace MEMARRAY_LAUNCH_NAMESPACE {

template <bool in_place, class T, int ndim, AccessMode mode>
auto make_argument(ArrayAccess<T, ndim, mode> const& given, Acquisition const& hold) {
  if constexpr (mode == AccessMode::update) {
    return ElementArgument<T, in_place>{elements_at<T const>(hold.source()), elements_at<T>(hold.target())};
  } else {
    using Element = std::conditional_t<mode == AccessMode::read, T const, T>;
    ArrayIndexer<Element, ndim> indexer{elements_at<Element>(hold.target()), {}};
    for (int d = 0; d < ndim; ++d) indexer.extents[static_cast<std::size_t>(d)] = given.state->shape()[d];
    return IndexerArgument<Element, ndim>{indexer};
  }
}

template <class T, int ndim, AccessMode mode, std::size_t launch_ndim>
void check_shape(ArrayAccess<T, ndim, mode> const& given, std::array<std::int64_t, launch_ndim> const& shape) {
  if constexpr (mode == AccessMode::overwrite || mode == AccessMode::update) {
    bool equal = static_cast<std::size_t>(ndim) == launch_ndim;
    for (std::size_t d = 0; equal && d < launch_ndim; ++d) equal = given.state->shape()[d] == shape[d];
    if (!equal) throw_shape_mismatch(*given.state, Extents(shape));
  }
}

/// Throws `LockError` if one array is given twice, unless both accesses only read.
template <class A, class B>
void check_pair(A const& a, B const& b) {
  if (a.state.get() == b.state.get() && !(A::kind == AccessMode::read && B::kind == AccessMode::read))
    throw_given_twice(*a.state);
}
template <class First, class... Rest>
void check_pairs(First const& first, Rest const&... rest) {
  (check_pair(first, rest), ...);
  if constexpr (sizeof...(rest) > 0) check_pairs(rest...);
}

/// Acquires the arrays one after another, each in its own stack frame, and calls `run` with the holds.
template <class Run, class... Held>
void with_holds(Run const& run, StreamHandle const&, std::tuple<Held&...> const& held) {
  std::apply(run, held);
}
template <class Run, class... Held, class First, class... Rest>
void with_holds(Run const& run, StreamHandle const& stream, std::tuple<Held&...> const& held, First const& first,
                Rest const&... rest) {
  // A second read by this launch must not be refused because a writer waits.
  bool const again =
      std::apply([&](auto&... earlier) { return ((&earlier.state() == first.state.get()) || ...); }, held);
  Acquisition hold(*first.state, First::kind, first.lock_id, "a kernel",
                   again ? Acquisition::Option::past_writers : Acquisition::Option::none, stream);
  with_holds(run, stream, std::tuple_cat(held, std::tuple<Acquisition&>(hold)), rest...);
}

/// Fails the kernel on a simulated device if a GPU would refuse to load its elements.
template <class T, int ndim>
void check_loads(IndexerArgument<T, ndim> const& argument) {
  if (argument.indexer.size() != 0) testing::detail::check_load(argument.indexer.pointer, alignof(T));
}
template <class T, bool in_place>
void check_loads(ElementArgument<T, in_place> const& argument) {
  testing::detail::check_load(argument.source, alignof(T));
  testing::detail::check_load(argument.target, alignof(T));
}

/// The body of a loop over linear indices, on the host or on a simulated device.
template <class IndexT, int ndim, class F, class... Arguments>
struct Body {
  F f;
  IndexArray<std::int64_t, ndim> shape;
  cuda::std::tuple<Arguments...> arguments;

  template <class Indices>
  void call(std::int64_t linear, Indices const& indices) {
    cuda::std::apply(
        [&](Arguments const&... argument) {
          (argument.prepare(linear), ...);
          f(indices, argument.argument(linear)...);
        },
        arguments);
  }
};

/// Adapts `f(element, indices)` of the one-array form to `f(indices, element)`.
template <class F>
struct ElementFirst {
  F f;
  template <class Indices, class T>
  MEMARRAY_HD auto operator()(Indices const& indices, T& element) -> decltype(f(element, indices)) {
    return f(element, indices);
  }
};

template <class F, class Indices, class... Arguments>
concept Takes = std::is_invocable_v<F&, Indices, decltype(std::declval<Arguments const&>().argument(0))...>;

/// Runs `f` where `runs` says. `first` is any of the holds: all share one device and stream.
template <std::size_t ndim, class F, class... Arguments>
void run_body(std::array<std::int64_t, ndim> const& shape, ExecutionSpace runs, Acquisition const& first,
              std::size_t bytes, F const& f, Arguments const&... arguments) {
  constexpr int n = static_cast<int>(ndim);
  constexpr bool takes_narrow = Takes<F, IndexArray<std::int32_t, n>, Arguments...>;
  auto const extents = to_indices<std::int64_t, n>(shape);
  std::int64_t size = 1;
  for (std::int64_t const extent : shape) size *= extent;
  auto const run = [&]<class IndexT>(IndexT) {
    using Loop = Body<IndexT, n, F, Arguments...>;
    auto const visit = [extents](Loop& loop, std::int64_t begin, std::int64_t end) {
      visit_range<IndexT, static_cast<int>(ndim)>(
          extents, begin, end, [&](std::int64_t linear, auto const& indices) { loop.call(linear, indices); });
    };
    switch (runs) {
      case ExecutionSpace::host:
        return run_host(size, bytes, [&](std::int64_t begin, std::int64_t end) {
          Loop loop{f, extents, {arguments...}};
          visit(loop, begin, end);
        });
      case ExecutionSpace::simulated:
        if (size > 0)
          launch_emulated(first.queue(), [visit, size, loop = Loop{f, extents, {arguments...}}]() mutable {
            cuda::std::apply([](auto const&... argument) { (check_loads(argument), ...); }, loop.arguments);
            visit(loop, 0, size);
          });
        return;
      case ExecutionSpace::device: break;
    }
#if defined(__CUDACC__)
    // A functor that takes 32-bit indices gets 64-bit ones only if the size requires them.
    constexpr bool is_large = std::is_same_v<IndexT, std::int64_t> && takes_narrow;
    launch_device<IndexT, is_large>(extents, size, first.queue(), f, arguments...);
#else
    throw_not_compiled_for_device();
#endif
  };
  if constexpr (takes_narrow) {
    if (size <= INT32_MAX) return run(std::int32_t{});
  }
  run(std::int64_t{});
}

/// A launch over several arrays that are held. It stores the arrays because lambdas must not capture them: nvcc 13.0
/// gives all of them the last one's type if packs meet in nested lambdas.
template <std::size_t ndim, class F, class... Access>
struct Launch {
  std::array<std::int64_t, ndim> const& shape;
  F const& f;
  std::tuple<Access const&...> accesses;

  template <class... Held>
  void operator()(Held&... holds) const {
    run(std::tuple<Held&...>(holds...), std::index_sequence_for<Access...>());
    commit_all(holds...);
  }

 private:
  template <class Holds, std::size_t... a>
  void run(Holds const& holds, std::index_sequence<a...>) const {
    (check_shape(std::get<a>(accesses), shape), ...);
    ExecutionSpace const runs = where_all_are(*std::get<a>(accesses).state...);
    std::size_t const bytes = (std::get<a>(accesses).state->bytes() + ...);
    Acquisition const& any = std::get<0>(holds);
    try {
      if ((std::get<a>(holds).is_in_place() && ...))
        run_body(shape, runs, any, bytes, f, make_argument<true>(std::get<a>(accesses), std::get<a>(holds))...);
      else
        run_body(shape, runs, any, bytes, f, make_argument<false>(std::get<a>(accesses), std::get<a>(holds))...);
    } catch (...) {
      (std::get<a>(holds).left_running(), ...);
      throw;
    }
  }
};

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace detail

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

/// Calls `f(indices, a, b, …)` once for each index of `shape`, in parallel. It runs where the arrays are: on host
/// threads, or as a CUDA kernel on `stream`. Arrays are given as `read(a)`, `write(b)`, `overwrite(c)` or `update(d)`.
///
/// `indices` is a `cuda::std::array` of `std::int64_t`; a functor with a templated call operator gets 32-bit indices if
/// the size allows. Calls must not depend on their order.
///
/// All arrays are held during the call, or none and it throws. On a device, `stream` first waits for the arrays'
/// pending work on other streams, and the call returns when the kernel is submitted. If a call of `f` throws, the
/// others may or may not have run. Arrays with escaped views then keep their old contents.
///
/// Throws `LockError` if another holder conflicts, or if an array is given twice and not only read. Throws `ValueError`
/// if `stream` is null, an extent is negative, or an `overwrite` or `update` array has another shape. Throws `Error` if
/// the arrays are on different devices; `OverflowError`; `CudaError`; `OutOfMemoryError`.
template <std::size_t ndim, class F, class... Access>
void for_each_index(std::array<std::int64_t, ndim> const& shape, StreamHandle const& stream, F f,
                    Access const&... accesses) {
  static_assert(sizeof...(Access) > 0, "name the arrays: read(a), write(b), overwrite(c), update(d)");
  if (!stream) detail::throw_null_stream();
  static_cast<void>(checked_size(shape));
  detail::check_pairs(accesses...);
  // Checked before `stream` is made to wait. The launch checks again under the holds, when no array can move.
  detail::ArrayState const* const all[] = {accesses.state.get()...};
  detail::check_one_device(all);
  detail::with_holds(detail::Launch<ndim, F, Access...>{shape, f, {accesses...}}, stream, std::tuple<>(), accesses...);
}

template <std::size_t ndim, class F, class... Access>
void for_each_index(std::int64_t const (&shape)[ndim], StreamHandle const& stream, F f, Access const&... accesses) {
  std::array<std::int64_t, ndim> extents{};
  for (std::size_t d = 0; d < ndim; ++d) extents[d] = shape[d];
  for_each_index(extents, stream, std::move(f), accesses...);
}

/// Calls `f(element, indices)` once for each element of `array`, in parallel: an `update` of one array. `lock_id` is
/// that of the caller's write lease, if any. Throws like the form for several arrays.
template <class T, int ndim, class F>
void for_each_index(MemArray<T, ndim>& array, StreamHandle const& stream, F f, std::int64_t lock_id = -1) {
  // The hold comes before the shape is read, so that no resize can come between.
  if (!stream) detail::throw_null_stream();
  auto const access = update(array, lock_id);
  detail::with_holds(
      [&](auto& hold) {
        detail::ElementFirst<F> element_first{std::move(f)};
        detail::ExecutionSpace const runs = detail::where_all_are(*access.state);
        std::size_t const bytes = access.state->bytes();
        try {
          if (hold.is_in_place())
            detail::run_body(array.get_shape(), runs, hold, bytes, element_first,
                             detail::make_argument<true>(access, hold));
          else
            detail::run_body(array.get_shape(), runs, hold, bytes, element_first,
                             detail::make_argument<false>(access, hold));
        } catch (...) {
          hold.left_running();
          throw;
        }
        detail::commit_all(hold);
      },
      stream, std::tuple<>(), access);
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE

// A stream cannot be made from an integer or nullptr by accident: call default_stream().
template <class Where, class F, class... Rest>
void for_each_index(Where&&, std::nullptr_t, F, Rest&&...) = delete;
template <class Where, class F, class... Rest>
void for_each_index(Where&&, int, F, Rest&&...) = delete;

}  // namespace memarray
