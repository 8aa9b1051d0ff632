#include "reduce_sums.hpp"

#include "dtype_index.hpp"
#include "reduce_loops.hpp"

#include <cmath>
#include <type_traits>

// GCC's `__builtin_convertvector` is slow: it widens the halves of a vector separately.
#if defined(MEMARRAY_SIMD_TARGETS) && !defined(__clang__)
#define MEMARRAY_GCC_WIDENS 1
#include <immintrin.h>
// All functions with vector parameters are inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace memarray::detail {
namespace {

/// A sum: modulo 2^64 for integers, in double for others.
template <class T, class Sum>
struct Add {
  using Element = T;
  using Accumulator = Sum;
  static constexpr bool has_rows = true;
  static constexpr Sum nothing() { return Sum{}; }
  MEMARRAY_ALWAYS_INLINE static Sum load(Element element, std::uint64_t /*flip*/) { return static_cast<Sum>(element); }
  MEMARRAY_ALWAYS_INLINE static Sum combine(Sum left, Sum right) { return left + right; }
  template <class Sums, class Elements>
  MEMARRAY_ALWAYS_INLINE static void load_all(Sums& sums, Elements const& elements, std::uint64_t /*flip*/) {
#if defined(MEMARRAY_GCC_WIDENS)
    if constexpr (sizeof(Sums) == sizeof(__m256d) && std::is_same_v<T, float>) {
      sums = __builtin_bit_cast(Sums, __builtin_ia32_cvtps2pd256(elements));
      return;
    }
    if constexpr (sizeof(Sums) == sizeof(__m256i) && std::is_same_v<T, std::int32_t>) {
      sums = __builtin_bit_cast(Sums, __builtin_ia32_pmovsxdq256(elements));
      return;
    }
#endif
    sums = __builtin_convertvector(elements, Sums);
  }
  template <class Sums>
  MEMARRAY_ALWAYS_INLINE static void combine_all(Sums& left, Sums const& right) {
    left += right;
  }
};

/// A sum and its accumulated rounding error.
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

double value_of(Total const& total) {
  // The rounding error of an infinite sum is NaN.
  return std::isfinite(total.sum) ? total.sum + total.lost : total.sum;
}

template <class Result, class Sum>
void finish_sums(void const* totals, ReductionEnd const& end, std::uint64_t /*flip*/, std::byte* target,
                 std::int64_t stride, std::int64_t columns) {
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
      result = from[j] * static_cast<std::uint64_t>(end.repeat);
    }
  }
}

/// `converted_to`: the position of `T`, or −1 without conversion.
template <class T, class Sum, class Result>
ReductionKernels sums(int dtype_index, int converted_to) {
  return {.accumulator_size = sizeof(Sum),
          .total_size = sizeof(TotalOf<Sum>),
          .element_size = sizeof(T),
          .convert = converted_to < 0 ? nullptr : cast_row(dtype_index, converted_to),
          .flip = 0,
          .begin = begin_accumulators<Add<T, Sum>>,
          .accumulate = accumulate<Add<T, Sum>>,
          .begin_total = begin_totals<Sum>,
          .fold = fold_sums<Sum>,
          .finish = finish_sums<Result, Sum>};
}

/// Means of integers are in double, like NumPy's. Elements of up to 16 bits convert to float, exactly.
template <class T>
ReductionKernels sums_of(int dtype_index, bool mean) {
  constexpr int as_float = dtype_index_of<float>;
  if constexpr (is_complex<T>) {
    return sums_of<typename T::value_type>(dtype_index, mean);
  } else if constexpr (is_reduced_float<T>) {
    return sums<float, double, T>(dtype_index, as_float);
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= sizeof(double), "sums are in double");
    return sums<T, double, T>(dtype_index, -1);
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "sums of integers are modulo 2^64");
    constexpr bool fits_int32 = sizeof(T) < 4 || std::is_same_v<T, std::int32_t>;
    using Element = std::conditional_t<fits_int32, std::int32_t, std::int64_t>;
    if (mean)
      return sizeof(T) <= 2 ? sums<float, double, double>(dtype_index, as_float)
                            : sums<double, double, double>(dtype_index, dtype_index_of<double>);
    // Signed and unsigned sums are equal modulo 2^64.
    constexpr bool is_element = sizeof(T) == sizeof(Element) && (sizeof(T) == 8 || std::is_signed_v<T>);
    return sums<Element, std::uint64_t, std::uint64_t>(dtype_index, is_element ? -1 : dtype_index_of<Element>);
  }
}

}  // namespace

ReductionKernels sum_kernels(int dtype_index, bool mean) {
#define MEMARRAY_ENTRY(type, name, code, bits) sums_of<type>,
  static constexpr ReductionKernels (*table[])(int, bool) = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index](dtype_index, mean);
}

}  // namespace memarray::detail
