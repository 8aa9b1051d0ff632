#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/detail/launch/launch_box.hpp>
#include <memarray/detail/launch/pack.hpp>
#include <memarray/detail/launch/run_host.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray::detail {

/// Type-erased operations of one `HostKernel` type. Kernels are passed by address.
struct KernelCode {
  /// Visits the positions [begin, end) of the box.
  void (*run)(void const* kernel, std::int64_t begin, std::int64_t end);
  void* (*copy)(void const* kernel);
  void (*destroy)(void* kernel) noexcept;
  ShortLaunches* short_left;  ///< of the functor
};

template <class Argument>
inline constexpr bool has_row_stride = requires(Argument const& argument) { argument.row_stride(); };

/// A functor with its box and arguments.
template <class IndexT, int rank, class F, class... Arguments>
struct HostKernel {
  static constexpr int ndim = rank;
  using Index = IndexT;
  using Indices = IndexArray<IndexT, ndim>;

  F f;
  LaunchBox<ndim> box;
  Pack<Arguments...> arguments;

  /// Visits row by row, in loops that compilers can vectorise.
  static void run(void const* kernel, std::int64_t begin, std::int64_t end) {
    // A local copy, which the functor's stores cannot alias.
    HostKernel own = *static_cast<HostKernel const*>(kernel);
    BoxPosition<ndim> position(own.box, begin);
    while (begin < end) {
      if constexpr (ndim > 1 && (has_row_stride<Arguments> && ...)) {
        // Short whole rows, such as coordinates, are one loop that vectorises across rows. With indexers it would
        // triple compile times and gain less.
        if (position.offsets[ndim - 1] == 0 && end - begin >= own.box.extents[ndim - 1] &&
            own.rows_are_adjacent(std::index_sequence_for<Arguments...>())) {
          std::int64_t const rows = std::min((end - begin) / own.box.extents[ndim - 1], position.rows_left(own.box));
          bool done = true;
          switch (own.box.extents[ndim - 1]) {
            case 2: own.template run_rows<2>(position, rows); break;
            case 3: own.template run_rows<3>(position, rows); break;
            case 4: own.template run_rows<4>(position, rows); break;
            default: done = false;
          }
          if (done) {
            begin += rows * own.box.extents[ndim - 1];
            position.advance_rows(own.box, rows);
            continue;
          }
        }
      }
      std::int64_t const left = position.left(own.box);
      std::int64_t const count = end - begin < left ? end - begin : left;
      run_row(own.f, own.arguments, own.first_of(position), static_cast<IndexT>(count),
              std::index_sequence_for<Arguments...>());
      begin += count;
      position.advance(own.box, count);
    }
  }

  static void* copy(void const* kernel) {
    auto const* const original = static_cast<HostKernel const*>(kernel);
    return new auto(*original);
  }
  static void destroy(void* kernel) noexcept { delete static_cast<HostKernel*>(kernel); }
  static inline constinit ShortLaunches short_left{0};
  static constexpr KernelCode code{&run, &copy, &destroy, &short_left};

 private:
  /// True if each row of the box follows the last one in memory, in all arguments.
  template <std::size_t... a>
  [[nodiscard]] bool rows_are_adjacent(std::index_sequence<a...>) const noexcept {
    return ((get<a>(arguments).row_stride() == box.extents[ndim - 1]) && ...);
  }
  template <int length>
  void run_rows(BoxPosition<ndim> const& position, std::int64_t rows) {
    Indices first = first_of(position);
    run_rows<length>(f, arguments, first, static_cast<IndexT>(rows), std::index_sequence_for<Arguments...>());
  }
  template <int length, std::size_t... a>
  static void run_rows(F& f, Pack<Arguments...> const& arguments, Indices const& first, IndexT rows,
                       std::index_sequence<a...>) {
    Pack<std::remove_cvref_t<decltype(get<a>(arguments).row(first))>...> const begins{
        {get<a>(arguments).row(first)}...};
    // One loop: functors that ignore the indices then vectorise as in one dimension.
    IndexT const count = rows * length;
    MEMARRAY_INDEPENDENT_STEPS
    for (IndexT k = 0; k < count; ++k) {
      Indices here = first;
      here[static_cast<std::size_t>(ndim - 2)] += k / length;
      here[static_cast<std::size_t>(ndim - 1)] += k % length;
      f(here, get<a>(begins).at(k)...);
    }
  }

  [[nodiscard]] Indices first_of(BoxPosition<ndim> const& position) const noexcept {
    Indices first;
    for (int d = 0; d < ndim; ++d)
      first[static_cast<std::size_t>(d)] = static_cast<IndexT>(box.begin[d] + position.offsets[d]);
    return first;
  }

  template <std::size_t... a>
  static void run_row(F& f, Pack<Arguments...> const& arguments, Indices const& first, IndexT count,
                      std::index_sequence<a...>) {
    Pack<std::remove_cvref_t<decltype(get<a>(arguments).row(first))>...> const rows{{get<a>(arguments).row(first)}...};
    MEMARRAY_INDEPENDENT_STEPS
    for (IndexT j = 0; j < count; ++j) {
      Indices here = first;
      here[static_cast<std::size_t>(ndim - 1)] += j;
      f(here, get<a>(rows).at(j)...);
    }
  }
};

}  // namespace memarray::detail
