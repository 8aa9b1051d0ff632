#pragma once

#include <memarray/array/access.hpp>
#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/base/element_pointer.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>
#include <memarray/detail/launch/launch_box.hpp>
#include <memarray/kernel/launch.hpp>
#include <memarray/kernel/range.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

// The part of a launch that is compiled for each functor; `HeldLaunch` has the rest.
namespace memarray::detail {

inline namespace MEMARRAY_LAUNCH_NAMESPACE {

template <class T, int ndim>
[[nodiscard]] ArrayIndexer<T, ndim> make_indexer(KernelHold const& hold) {
  Extents const shape = hold.extents();
  ArrayIndexer<T, ndim> indexer{elements_at<T>(hold.target()), {}};
  for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) indexer.extents[d] = shape[d];
  return indexer;
}
template <class T, int ndim>
[[nodiscard]] ElementArgument<T, ndim> make_element(KernelHold const& hold) {
  Extents const shape = hold.extents();
  ElementArgument<T, ndim> argument{elements_at<T const>(hold.source()), elements_at<T>(hold.target()), {}};
  std::int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; stride *= shape[static_cast<std::size_t>(d--)]) argument.strides[d] = stride;
  return argument;
}

/// Conversion of an access to a functor's argument. `indexed`: `update` gives an indexer, not an element.
template <class Access>
struct Argument;

template <class T, int ndim, AccessMode mode>
struct Argument<ArrayAccess<T, ndim, mode>> {
  static constexpr std::size_t count = 1;  // of arrays
  using Element = std::conditional_t<mode == AccessMode::read, T const, T>;

  static void request(ArrayAccess<T, ndim, mode> const& access, bool indexed, KernelHold* holds) noexcept {
    holds->request(*access.state, mode, access.lock_id, alignof(T));
    // The functor may access any element through an indexer.
    if (indexed && mode == AccessMode::update) holds->copy_all();
  }
  template <bool indexed>
  [[nodiscard]] static auto make(KernelHold const* holds) {
    if constexpr (mode == AccessMode::update && !indexed)
      return make_element<T, ndim>(*holds);
    else
      return IndexerArgument<ArrayIndexer<Element, ndim>>{make_indexer<Element, ndim>(*holds)};
  }
};

template <class T, int ndim, AccessMode mode, bool dense>
struct Argument<ViewAccess<T, ndim, mode, dense>> {
  static constexpr std::size_t count = 1;
  using Element = std::conditional_t<mode == AccessMode::read, T const, T>;

  static void request(ViewAccess<T, ndim, mode, dense> const& access, bool, KernelHold* holds) noexcept {
    holds->request(access.view, mode, alignof(T));
  }
  template <bool indexed>
  [[nodiscard]] static auto make(KernelHold const* holds) {
    if constexpr (dense) {
      return Argument<ArrayAccess<T, ndim, mode>>::template make<indexed>(holds);
    } else {
      StridedLayout const& layout = holds->view()->layout();
      StridedIndexer<Element, ndim> indexer{elements_at<Element>(holds->target()), {}, {}};
      for (std::size_t d = 0; d < static_cast<std::size_t>(ndim); ++d) {
        indexer.extents[d] = layout.shape()[d];
        indexer.strides[d] = layout.strides()[d] / static_cast<std::int64_t>(sizeof(T));
      }
      if constexpr (mode == AccessMode::update && !indexed)
        return StridedElementArgument<T, ndim>{indexer};
      else
        return IndexerArgument<StridedIndexer<Element, ndim>>{indexer};
    }
  }
};

template <template <template <class, int> class> class B, AccessMode mode>
struct Argument<BundleAccess<B, mode>> {
  static constexpr std::size_t count = std::tuple_size_v<decltype(std::declval<B<MemArray>&>().members())>;
  using Indexers = std::conditional_t<mode == AccessMode::read, B<ConstIndexer>, B<Indexer>>;

  static void request(BundleAccess<B, mode> const& access, bool, KernelHold* holds) {
    std::apply([&](auto&... array) { (holds++->request(array.state(), mode, -1, alignment_of(array)), ...); },
               access.arrays->members());
  }
  template <bool>
  [[nodiscard]] static auto make(KernelHold const* holds) {
    static_assert(std::is_trivially_copyable_v<Indexers>,
                  "a bundle has no copy constructor, assignment or destructor of its own");
    // A bundle may have no default constructor.
    IndexerArgument<Indexers> argument{std::bit_cast<Indexers>(std::array<std::byte, sizeof(Indexers)>{})};
    std::apply(
        [&](auto&... indexer) {
          static_assert((sizeof(indexer) + ...) == sizeof(Indexers),
                        "MEMARRAY_BUNDLE lists all members, and no others");
          (set(indexer, *holds++), ...);
        },
        argument.indexer.members());
    return argument;
  }

 private:
  template <class T, int ndim>
  static constexpr std::size_t alignment_of(MemArray<T, ndim> const&) noexcept {
    return alignof(T);
  }
  template <class T, int ndim>
  static void set(ArrayIndexer<T, ndim>& indexer, KernelHold const& hold) {
    indexer = make_indexer<T, ndim>(hold);
  }
};

template <class... Access>
inline constexpr std::size_t count_of = (Argument<Access>::count + ... + 0);

template <class... Access>
void request_all(bool indexed, KernelHold* holds, Access const&... accesses) {
  ((Argument<Access>::request(accesses, indexed, holds), holds += Argument<Access>::count), ...);
}

/// True if `f(indices, arguments…)` compiles with these accesses.
template <bool indexed, class F, class Indices, class... Access>
inline constexpr bool takes =
    std::is_invocable_v<F&, Indices,
                        decltype(std::declval<decltype(Argument<Access>::template make<indexed>(nullptr))>()
                                     .row(std::declval<Indices const&>())
                                     .at(0))...>;

/// True if the functor takes an array of indices; `takes_index`: one integer, in one dimension.
template <bool indexed, int ndim, class F, class... Access>
inline constexpr bool takes_indices = [] {
  // Wide first: a lambda that takes `auto` is then instantiated once.
  if constexpr (takes<indexed, F, IndexArray<std::int64_t, ndim>, Access...>)
    return true;
  else
    return takes<indexed, F, IndexArray<std::int32_t, ndim>, Access...>;
}();
template <bool indexed, int ndim, class F, class... Access>
inline constexpr bool takes_index = [] {
  if constexpr (ndim != 1)
    return false;
  else
    return takes<indexed, F, std::int64_t, Access...>;
}();

/// An index that converts only to integers of its size.
template <class IndexT>
struct OneIndex {
  IndexT index;
  template <std::integral I>
    requires(sizeof(I) == sizeof(IndexT))
  MEMARRAY_HD constexpr operator I() const noexcept {
    return static_cast<I>(index);
  }
};
/// A probe for parameters that cannot be an index: floating-point, or below 32 bits.
struct LossyIndex {
  template <class T>
    requires(std::floating_point<T> || (std::integral<T> && sizeof(T) < 4))
  operator T() const;
};

/// A functor that calls `f(i, …)` in one dimension, with 32 or 64 bits as `f` declares. An `f` that takes neither
/// `OneIndex` has a constrained template for its index, such as `std::integral auto`.
template <class F, bool takes_narrow, bool takes_wide>
struct WithOneIndex {
  F f;
  template <class IndexT, class... Arguments>
    requires((sizeof(IndexT) == 4 ? takes_narrow : takes_wide) || (!takes_narrow && !takes_wide))
  MEMARRAY_HD decltype(auto) operator()(IndexArray<IndexT, 1> const& indices, Arguments&&... arguments) {
    if constexpr (takes_narrow || takes_wide)
      return f(OneIndex<IndexT>{indices[0]}, static_cast<Arguments&&>(arguments)...);
    else
      return f(indices[0], static_cast<Arguments&&>(arguments)...);
  }
};

template <bool indexed, class IndexT, class... Access, int ndim, class F, class Run, std::size_t... a>
void run_kernel(HeldLaunch& launch, LaunchBox<ndim> const& box, F const& f, Run const& run, KernelHold const* holds,
                std::index_sequence<a...>) {
  // Each access's first hold.
  constexpr auto first = [] {
    std::array<std::size_t, sizeof...(Access) + 1> found{};
    ((found[a + 1] = found[a] + Argument<Access>::count), ...);
    return found;
  }();
  using Kernel = HostKernel<IndexT, ndim, F, decltype(Argument<Access>::template make<indexed>(holds))...>;
  run(launch, Kernel{f, box, {{Argument<Access>::template make<indexed>(holds + first[a])}...}});
}

/// Calls `run(launch, kernel)`, with 32-bit indices if the functor takes them and they suffice.
template <bool indexed, class... Access, int ndim, class F, class Run>
void run_launch(HeldArrays& arrays, LaunchBox<ndim> const& box, HeldArrays::Extent extent, F const& f, Run const& run) {
  using Narrow = IndexArray<std::int32_t, ndim>;
  using Wide = IndexArray<std::int64_t, ndim>;
  constexpr std::index_sequence_for<Access...> all;
  KernelHold const* const holds = arrays.holds().data();
  HeldLaunch launch(arrays, {ndim, box.begin, box.extents}, extent);
  if constexpr (takes<indexed, F, Narrow, Access...>) {
    bool is_narrow = launch.size() <= INT32_MAX;
    for (int d = 0; d < ndim; ++d)
      is_narrow = is_narrow && box.begin[d] >= INT32_MIN && box.begin[d] + box.extents[d] <= INT32_MAX;
    if (is_narrow || launch.size() == 0)
      run_kernel<indexed, std::int32_t, Access...>(launch, box, f, run, holds, all);
    else if constexpr (takes<indexed, F, Wide, Access...>)
      run_kernel<indexed, std::int64_t, Access...>(launch, box, f, run, holds, all);
    else
      throw_needs_wide_indices();
  } else {
    run_kernel<indexed, std::int64_t, Access...>(launch, box, f, run, holds, all);
  }
}

template <bool indexed, int ndim, class F, class Run, class... Access>
void hold_and_run(LaunchBox<ndim> const& box, HeldArrays::Extent extent, StreamOrLaunch const& on, F const& f,
                  Run const& run, Access const&... accesses) {
  constexpr bool has_result = requires { run.result_array; };
  KernelHold holds[count_of<Access...> + has_result];
  request_all(indexed, holds, accesses...);
  if constexpr (has_result) {
    using Result = typename std::remove_cvref_t<decltype(run.result_array)>::Element;
    holds[count_of<Access...>].request_result(*run.result_array.state, run.result_array.lock_id, alignof(Result));
  }
  HeldArrays arrays(holds, on, extent);
  run_launch<indexed, Access...>(arrays, box, extent, f, run);
  arrays.commit();
}

template <class F, class Run, class... Access, std::size_t... a>
void run_whole(HeldLaunch& launch, F const& f, Run const& run, KernelHold const* holds, std::index_sequence<a...>,
               Access const&...) {
  using Kernel = HostKernel<std::int64_t, 1, F, ElementArgument<typename Access::Element const, 1>...>;
  run(launch, Kernel{f,
                     {{0}, {launch.size()}},
                     {{{elements_at<typename Access::Element const>(holds[a].source()),
                        elements_at<typename Access::Element const>(holds[a].target()),
                        {1}}}...}});
}
/// Visits whole arrays of one shape in one dimension: `f` takes a 64-bit index and elements. Writes the shape to `box`.
template <int ndim, class F, class Run, class... Access>
void launch_whole(StreamOrLaunch const& on, F const& f, Run const& run, LaunchBox<ndim>& box,
                  Access const&... accesses) {
  KernelHold holds[sizeof...(Access)];
  request_all(false, holds, accesses...);
  HeldArrays arrays(holds, on, HeldArrays::Extent::all);
  copy_common_extents(arrays, box.extents);
  HeldLaunch launch(arrays, {ndim, box.begin, box.extents}, HeldArrays::Extent::all);
  run_whole(launch, f, run, holds, std::index_sequence_for<Access...>(), accesses...);
  arrays.commit();
}

/// Visits one array, whose shape is read under the hold.
template <class F, class Run, class Access>
void launch_over(Access const& access, StreamOrLaunch const& on, F const& f, Run const& run) {
  constexpr bool fits = takes_indices<false, Access::ndim, F, Access>;
  static_assert(fits, "the functor takes a reference to an element, then the indices");
  if constexpr (fits) {
    KernelHold hold;
    request_all(false, &hold, access);
    HeldArrays arrays({&hold, 1}, on, HeldArrays::Extent::all);
    LaunchBox<Access::ndim> box{};
    copy_common_extents(arrays, box.extents);
    run_launch<false, Access>(arrays, box, HeldArrays::Extent::all, f, run);
    arrays.commit();
  }
}

/// Calls `launch<indexed>(f)` with the functor as kernels call it. Checks functor and ranks at compile time.
template <int ndim, class... Access, class F, class Launch>
void with_checked(F const& f, Launch const& launch) {
  static_assert(ndim >= 1 && ndim <= StridedLayout::max_ndim, "a launch has 1 to 16 dimensions");
  static_assert(std::is_copy_constructible_v<F>, "each thread calls a copy of the functor: make it copyable");
  constexpr bool updates = ((Access::kind != AccessMode::update || Access::ndim == ndim) && ...);
  static_assert(updates, "an update array has the rank of the launch");
  constexpr bool overwrites = ((Access::kind != AccessMode::overwrite || Access::ndim >= ndim) && ...);
  static_assert(overwrites, "an overwrite array has the rank of the launch, or more dimensions");
  if constexpr (ndim >= 1 && updates && overwrites && sizeof...(Access) > 0) {
    constexpr bool elements = [] {
      if constexpr (takes_indices<false, ndim, F, Access...>)
        return true;
      else
        return takes_index<false, ndim, F, Access...>;
    }();
    constexpr bool indexed = !elements && ((Access::kind == AccessMode::update) || ...);
    constexpr bool by_indices = takes_indices<indexed, ndim, F, Access...>;
    constexpr bool by_index = [] {
      if constexpr (by_indices)
        return false;
      else
        return takes_index<indexed, ndim, F, Access...>;
    }();
    static_assert(by_indices || by_index,
                  "the functor takes the indices, then one argument for each array: an indexer (read: of const "
                  "elements), or for update(…) a reference to an element, for all of them or for none");
    if constexpr (by_indices)
      launch.template operator()<indexed>(f);
    else if constexpr (by_index) {
      static_assert(!takes<indexed, F, LossyIndex, Access...>,
                    "the index of a one-dimensional functor is an integer of 64 bits, or of 32: std::int64_t i");
      constexpr bool narrow = takes<indexed, F, OneIndex<std::int32_t>, Access...>;
      constexpr bool wide = takes<indexed, F, OneIndex<std::int64_t>, Access...>;
      launch.template operator()<indexed>(WithOneIndex<F, narrow, wide>{f});
    }
  }
}

template <int ndim, class F, class Run, class... Access>
void check_and_launch(LaunchBox<ndim> const& box, HeldArrays::Extent extent, StreamOrLaunch const& on, F const& f,
                      Run const& run, Access const&... accesses) {
  static_assert(!is_access<F>,
                "a functor goes before the arrays, and in a reduction an initial value before the operation");
  static_assert(sizeof...(Access) > 0 && (is_access<Access> && ...),
                "name the arrays: read(a), write(b), overwrite(c), update(d)");
  with_checked<ndim, Access...>(
      f, [&]<bool indexed>(auto const& checked) { hold_and_run<indexed>(box, extent, on, checked, run, accesses...); });
}

template <std::size_t ndim>
[[nodiscard]] constexpr auto box_of(std::array<std::int64_t, ndim> const& begin,
                                    std::array<std::int64_t, ndim> const& shape) noexcept {
  LaunchBox<static_cast<int>(ndim)> box{};
  for (std::size_t d = 0; d < ndim; ++d) {
    box.begin[d] = begin[d];
    box.extents[d] = shape[d];
  }
  return box;
}

template <std::size_t ndim>
[[nodiscard]] constexpr auto box_of(std::array<std::int64_t, ndim> const& shape) noexcept {
  return box_of({}, shape);
}
/// Throws `OverflowError`.
template <std::size_t ndim>
[[nodiscard]] auto box_of(Range<ndim> const& range) {
  for (std::size_t d = 0; d < ndim; ++d)
    if (std::int64_t extent = 0;
        range.end[d] > range.begin[d] && __builtin_sub_overflow(range.end[d], range.begin[d], &extent))
      throw_range_too_long();
  return box_of(range.begin, range.shape());
}

template <std::size_t ndim>
[[nodiscard]] constexpr HeldArrays::Extent extent_of(std::array<std::int64_t, ndim> const&) noexcept {
  return HeldArrays::Extent::all;
}
template <std::size_t ndim>
[[nodiscard]] constexpr HeldArrays::Extent extent_of(Range<ndim> const&) noexcept {
  return HeldArrays::Extent::part;
}

}  // namespace MEMARRAY_LAUNCH_NAMESPACE

}  // namespace memarray::detail
