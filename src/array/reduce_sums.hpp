#pragma once

#include "dtype_index.hpp"
#include "reduce_loops.hpp"
#include "reduce_sum.hpp"

#include <cmath>
#include <complex>
#include <type_traits>

namespace memarray::detail {
/// Sums of integers are exact modulo 2^64, signed ones by their two's complement; all others are double.
template <class T, class Sum>
struct Add {
  using Element = Stored<T>;
  using Accumulator = Sum;
  static constexpr Sum nothing() { return Sum{}; }
  MEMARRAY_ALWAYS_INLINE static Sum load(Element element) {
    if constexpr (std::is_same_v<T, bool>)
      return static_cast<Sum>(element.byte != 0);
    else if constexpr (is_half<T>)
      return static_cast<Sum>(to_float(element));
    else
      return static_cast<Sum>(element);
  }
  MEMARRAY_ALWAYS_INLINE static Sum combine(Sum left, Sum right) { return left + right; }
};

/// A sum in double, and what its roundings have lost.
struct Total {
  double sum;
  double lost;
};

template <class Sum>
using TotalOf = std::conditional_t<std::is_same_v<Sum, double>, Total, Sum>;

template <class Sum>
void begin_totals(void* totals, std::int64_t columns) {
  std::fill_n(static_cast<TotalOf<Sum>*>(totals), columns, TotalOf<Sum>{});
}

template <class Sum>
void fold_sums(void* totals, void const* accumulators, std::int64_t columns) {
  auto* const into = static_cast<TotalOf<Sum>*>(totals);
  auto const* const from = static_cast<Sum const*>(accumulators);
  for (std::int64_t j = 0; j < columns; ++j) {
    if constexpr (std::is_same_v<Sum, double>) {
      double const before = into[j].sum;
      double const sum = before + from[j];
      double const added = sum - before;
      into[j].sum = sum;
      into[j].lost += (before - (sum - added)) + (from[j] - added);
    } else {
      into[j] += from[j];
    }
  }
}

inline double value_of(Total const& total) {
  // What infinities lose is no number.
  return std::isfinite(total.sum) ? total.sum + total.lost : total.sum;
}

/// `Result`: the type of the target's elements.
template <class Result, class Sum>
void finish_sums(void const* totals, ReductionEnd const& end, std::byte* target, std::int64_t stride,
                 std::int64_t columns) {
  auto const* const from = static_cast<TotalOf<Sum> const*>(totals);
  for (std::int64_t j = 0; j < columns; ++j) {
    auto& result = *reinterpret_cast<Result*>(target + j * stride);
    if constexpr (std::is_same_v<Sum, double>) {
      double const sum = value_of(from[j]);
      if (end.mean)
        result = static_cast<Result>(sum / static_cast<double>(end.count));
      else
        result = static_cast<Result>(end.repeat == 1 ? sum : sum * static_cast<double>(end.repeat));
    } else {
      result = static_cast<Result>(from[j] * static_cast<std::uint64_t>(end.repeat));
    }
  }
}

template <class T, class Sum, class Result>
ReductionKernels sums_as() {
  using Op = Add<T, Sum>;
  return {sizeof(Sum),
          sizeof(TotalOf<Sum>),
          begin_accumulators<Op>,
          accumulate_function<Op>(),
          collapse_accumulators<Op>,
          begin_totals<Sum>,
          fold_sums<Sum>,
          finish_sums<Result, Sum>};
}

template <class T>
ReductionKernels sums() {
  if constexpr (is_complex<T>)
    return sums<typename T::value_type>();
  else if constexpr (std::is_integral_v<T>)
    return sums_as<T, std::uint64_t, std::uint64_t>();
  else
    return sums_as<T, double, T>();
}

/// Of integers in double, as NumPy has it; all others are sums until the end.
template <class T>
ReductionKernels means(int dtype_index) {
  if constexpr (std::is_integral_v<T>)
    return sums_as<T, double, double>();
  else
    return sum_kernels(dtype_index);
}

}  // namespace memarray::detail
