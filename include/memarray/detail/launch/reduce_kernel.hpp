#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/float16.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/launch_box.hpp>
#include <memarray/detail/launch/pack.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace memarray::detail {

/// Type-erased operations of one `ReduceKernel` type. `result` is raw memory.
struct ReduceCode {
  std::size_t value_size;
  std::size_t value_alignment;
  bool is_cheap;  ///< few positions are not worth sharing
  /// Reduces the positions [begin, end), at least one.
  void (*run)(void const* kernel, std::int64_t begin, std::int64_t end, void* result);
  /// Combines the initial value with `count` values, in order.
  void (*combine)(void const* kernel, void const* values, std::int64_t count, void* result);
  void* (*copy)(void const* kernel);
  void (*destroy)(void* kernel) noexcept;
};

/// Fails to compile if a conversion silently drops fractions; to bool it tests for non-zero. `User` gives each use its
/// own error.
template <class From, class To, class User>
constexpr bool check_conversion() {
  static_assert(
      !((std::is_floating_point_v<From> || is_reduced_float<From>) && std::is_integral_v<To> &&
        !std::is_same_v<To, bool>),
      "the values are floating-point numbers, and the result is an integer: give an initial value such as 0.0");
  return true;
}

/// True for functors of a few instructions.
template <class F>
inline constexpr bool is_cheap = false;

template <class T, class Op, class Kernel>
struct ReduceKernel;

/// A reduction of the functor's results. Pieces are cut into rows. In a row of at least `lanes` positions, position `i`
/// goes to lane `i % lanes`. Lanes are combined in pairs, then rows, then pieces.
template <class T, class Op, class IndexT, int ndim, class F, class... Arguments>
struct ReduceKernel<T, Op, HostKernel<IndexT, ndim, F, Arguments...>> {
  using Kernel = HostKernel<IndexT, ndim, F, Arguments...>;
  using Indices = typename Kernel::Indices;
  static_assert(
      requires(Op& op, T& value) { static_cast<T>(op(value, T(value))); },
      "the operation of a reduction combines two values of its type");

  using Returned = std::remove_cvref_t<decltype(std::declval<F&>()(
      std::declval<Indices const&>(),
      std::declval<Arguments const&>().row(std::declval<Indices const&>()).at(IndexT())...))>;
  static_assert(std::is_constructible_v<T, Returned>, "the functor of a reduction returns its type of values");
  static_assert(check_conversion<Returned, T, F>());

  /// Lanes of 4-, 8- or 16-byte values fill one cache line.
  static constexpr std::size_t lanes = sizeof(T) <= 4 ? 16 : sizeof(T) <= 8 ? 8 : sizeof(T) <= 64 ? 4 : 1;

  Kernel kernel;
  Op op;
  T init;

  static void run(void const* self, std::int64_t begin, std::int64_t end, void* result) {
    ReduceKernel own = *static_cast<ReduceKernel const*>(self);
    Kernel& kernel = own.kernel;
    constexpr std::index_sequence_for<Arguments...> all;
    BoxPosition<ndim> position(kernel.box, begin);
    auto const next_row = [&] {
      std::int64_t const left = position.left(kernel.box);
      std::int64_t const count = end - begin < left ? end - begin : left;
      Indices first;
      for (int d = 0; d < ndim; ++d)
        first[static_cast<std::size_t>(d)] = static_cast<IndexT>(kernel.box.begin[d] + position.offsets[d]);
      T const value = reduce_row(kernel.f, own.op, kernel.arguments, first, static_cast<IndexT>(count), all);
      begin += count;
      position.advance(kernel.box, count);
      return value;
    };
    T total = next_row();
    for (;;) {
      if (begin == end) break;
      total = static_cast<T>(own.op(total, next_row()));
    }
    ::new (result) T(total);
  }

  static void combine(void const* self, void const* values, std::int64_t count, void* result) {
    ReduceKernel own = *static_cast<ReduceKernel const*>(self);
    auto const* const each = static_cast<T const*>(values);
    T total = own.init;
    for (std::int64_t i = 0; i < count; ++i) total = static_cast<T>(own.op(total, each[i]));
    ::new (result) T(total);
  }

  static void* copy(void const* self) {
    auto const* const original = static_cast<ReduceKernel const*>(self);
    return new auto(*original);
  }
  static void destroy(void* self) noexcept { delete static_cast<ReduceKernel*>(self); }
  static constexpr ReduceCode code{sizeof(T), alignof(T), is_cheap<F> && is_cheap<Op>, &run, &combine, &copy, &destroy};

 private:
  /// Raw: values may have no default constructor.
  union Lanes {
    Lanes() {}
    T each[lanes];
  };

  template <std::size_t... a>
  static T reduce_row(F& f, Op& op, Pack<Arguments...> const& arguments, Indices const& first, IndexT count,
                      std::index_sequence<a...>) {
    Pack<std::remove_cvref_t<decltype(get<a>(arguments).row(first))>...> const rows{{get<a>(arguments).row(first)}...};
    auto const value = [&](IndexT j) -> T {
      Indices here = first;
      here[static_cast<std::size_t>(ndim - 1)] += j;
      return static_cast<T>(f(here, get<a>(rows).at(j)...));
    };
    constexpr auto step = static_cast<IndexT>(lanes);
    if (count < step) {
      T total = value(0);
      for (IndexT j = 1; j < count; ++j) total = static_cast<T>(op(total, value(j)));
      return total;
    }
    // In a loop: each place that calls `value` is a copy of the functor's body.
    Lanes values;
    T* const kept = values.each;
    for (IndexT l = 0; l < step; ++l) ::new (static_cast<void*>(kept + l)) T(value(l));
    IndexT j = step;
    for (; j <= count - step; j += step)
      for (IndexT l = 0; l < step; ++l) kept[l] = static_cast<T>(op(kept[l], value(j + l)));
    for (IndexT l = 0; j < count; ++j, ++l) kept[l] = static_cast<T>(op(kept[l], value(j)));
    for (IndexT half = step / 2; half > 0; half /= 2)
      for (IndexT l = 0; l < half; ++l) kept[l] = static_cast<T>(op(kept[l], kept[l + half]));
    return kept[0];
  }
};

}  // namespace memarray::detail
