#pragma once

#include "dtype_index.hpp"
#include "reduce_loops.hpp"

#include <complex>
#include <limits>
#include <type_traits>

namespace memarray::detail {
/// What elements of T are compared as.
template <class T>
struct ComparedAs {
  using type = T;
};
template <>
struct ComparedAs<bool> {
  using type = std::uint8_t;
};
template <>
struct ComparedAs<float16> {
  using type = float;
};
template <>
struct ComparedAs<bfloat16> {
  using type = float;
};

template <class Number>
MEMARRAY_ALWAYS_INLINE bool is_nan(Number value) {
  if constexpr (std::is_floating_point_v<Number>)
    return __builtin_isnan(value) != 0;
  else
    return false;
}

/// The least or the largest; once NaN, always NaN.
template <class T, bool least>
struct Extreme {
  using Element = Stored<T>;
  using Accumulator = typename ComparedAs<T>::type;

  static constexpr Accumulator nothing() {
    using Limits = std::numeric_limits<Accumulator>;
    if constexpr (std::is_same_v<T, bool>) return least ? 1 : 0;
    if constexpr (Limits::has_infinity)
      return least ? Limits::infinity() : -Limits::infinity();
    else
      return least ? Limits::max() : Limits::min();
  }
  MEMARRAY_ALWAYS_INLINE static Accumulator load(Element element) {
    if constexpr (std::is_same_v<T, bool>)
      return static_cast<Accumulator>(element.byte != 0);
    else if constexpr (is_half<T>)
      return to_float(element);
    else
      return element;
  }
  MEMARRAY_ALWAYS_INLINE static Accumulator combine(Accumulator left, Accumulator right) {
    // In this form whole vectors can be compared.
    Accumulator const better = (least ? right < left : right > left) ? right : left;
    return is_nan(right) ? right : better;
  }
};

/// By the real part, then the imaginary one; a number with a NaN in either wins.
template <class T, bool least>
struct Extreme<std::complex<T>, least> {
  using Element = std::complex<T>;
  using Accumulator = std::complex<T>;

  static constexpr Accumulator nothing() {
    T const end = least ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    return {end, end};
  }
  MEMARRAY_ALWAYS_INLINE static Accumulator load(Element element) { return element; }
  MEMARRAY_ALWAYS_INLINE static Accumulator combine(Accumulator left, Accumulator right) {
    if (is_nan(left.real()) || is_nan(left.imag())) return left;
    if (is_nan(right.real()) || is_nan(right.imag())) return right;
    if (left.real() != right.real())
      return (least ? right.real() < left.real() : right.real() > left.real()) ? right : left;
    return (least ? right.imag() < left.imag() : right.imag() > left.imag()) ? right : left;
  }
};

template <class Op>
void fold_extremes(void* totals, void const* accumulators, std::int64_t columns) {
  auto* const into = static_cast<typename Op::Accumulator*>(totals);
  auto const* const from = static_cast<typename Op::Accumulator const*>(accumulators);
  for (std::int64_t j = 0; j < columns; ++j) into[j] = Op::combine(into[j], from[j]);
}

template <class T, class Op>
void finish_extremes(void const* totals, ReductionEnd const& /*end*/, std::byte* target, std::int64_t stride,
                     std::int64_t columns) {
  auto const* const from = static_cast<typename Op::Accumulator const*>(totals);
  for (std::int64_t j = 0; j < columns; ++j) {
    auto& result = *reinterpret_cast<Stored<T>*>(target + j * stride);
    if constexpr (std::is_same_v<T, bool>)
      result.byte = from[j];
    else
      result = Stored<T>(from[j]);
  }
}

template <class T, bool least>
ReductionKernels extremes() {
  using Op = Extreme<T, least>;
  constexpr std::size_t size = sizeof(typename Op::Accumulator);
  return {size,
          size,
          begin_accumulators<Op>,
          accumulate_function<Op>(),
          collapse_accumulators<Op>,
          begin_accumulators<Op>,
          fold_extremes<Op>,
          finish_extremes<T, Op>};
}

}  // namespace memarray::detail
