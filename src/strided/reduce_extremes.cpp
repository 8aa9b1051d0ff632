#include "reduce_extremes.hpp"

#include "dtype_index.hpp"
#include "reduce_loops.hpp"

#include <complex>
#include <limits>
#include <type_traits>

namespace memarray::detail {
namespace {

template <std::size_t size>
using BitsOf = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
[[nodiscard]] MEMARRAY_ALWAYS_INLINE T flipped(T number, std::uint64_t flip) {
  using Bits = BitsOf<sizeof(T)>;
  return __builtin_bit_cast(T, static_cast<Bits>(__builtin_bit_cast(Bits, number) ^ static_cast<Bits>(flip)));
}

/// A minimum; NaN wins. For a maximum, `flip` inverts the sign of floats or all bits of integers; for unsigned
/// integers, also the first bit.
template <class T>
struct Least {
  using Element = T;
  using Accumulator = T;
  using Bits = BitsOf<sizeof(T)>;
  static constexpr bool has_rows = true;
  static constexpr bool is_float = std::is_floating_point_v<T>;

  static constexpr T nothing() {
    using Limits = std::numeric_limits<T>;
    return is_float ? Limits::infinity() : Limits::max();
  }
  MEMARRAY_ALWAYS_INLINE static T load(Element element, std::uint64_t flip) { return flipped(element, flip); }
  MEMARRAY_ALWAYS_INLINE static T combine(T left, T right) {
    T const better = right < left ? right : left;
    if constexpr (is_float)
      return __builtin_isnan(right) ? right : better;
    else
      return better;
  }
  template <class Numbers>
  MEMARRAY_ALWAYS_INLINE static void load_all(Numbers& numbers, Numbers const& elements, std::uint64_t flip) {
    typedef Bits AllBits __attribute__((vector_size(sizeof(Numbers))));
    AllBits const bits = __builtin_bit_cast(AllBits, elements) ^ (static_cast<Bits>(flip) - AllBits{});
    numbers = __builtin_bit_cast(Numbers, bits);
  }
  template <class Numbers>
  MEMARRAY_ALWAYS_INLINE static void combine_all(Numbers& left, Numbers const& right) {
    if constexpr (is_float)
      left = ((right < left) | (right != right)) ? right : left;  // NOLINT(misc-redundant-expression): NaN
    else
      left = right < left ? right : left;
  }
};

/// An order by real parts first. A number with a NaN wins.
template <class T>
struct Least<std::complex<T>> {
  using Element = std::complex<T>;
  using Accumulator = std::complex<T>;
  static constexpr bool has_rows = false;

  static constexpr Accumulator nothing() {
    return {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::infinity()};
  }
  MEMARRAY_ALWAYS_INLINE static Accumulator load(Element element, std::uint64_t flip) {
    return {flipped(element.real(), flip), flipped(element.imag(), flip)};
  }
  MEMARRAY_ALWAYS_INLINE static Accumulator combine(Accumulator left, Accumulator right) {
    bool const left_has_nan = left.real() != left.real() || left.imag() != left.imag();
    bool const right_has_nan = right.real() != right.real() || right.imag() != right.imag();
    if (left_has_nan || right_has_nan) return left_has_nan ? left : right;
    if (left.real() != right.real()) return right.real() < left.real() ? right : left;
    return right.imag() < left.imag() ? right : left;
  }
};

template <class Op>
void fold_extremes(void* totals, void const* accumulators, std::int64_t columns) {
  auto* const into = static_cast<typename Op::Accumulator*>(totals);
  auto const* const from = static_cast<typename Op::Accumulator const*>(accumulators);
  for (std::int64_t j = 0; j < columns; ++j) into[j] = Op::combine(into[j], from[j]);
}

/// `Result` is the target's type, or one as large.
template <class Result, class T>
void finish_extremes(void const* totals, ReductionEnd const& /*end*/, std::uint64_t flip, std::byte* target,
                     std::int64_t stride, std::int64_t columns) {
  auto const* const from = static_cast<T const*>(totals);
  for (std::int64_t j = 0; j < columns; ++j)
    *reinterpret_cast<Result*>(target + j * stride) = static_cast<Result>(Least<T>::load(from[j], flip));
}

/// `converted_to`: the position of `T`, or −1 without conversion.
template <class T, class Result = T>
ReductionKernels extremes(int dtype_index, std::uint64_t flip, int converted_to = -1) {
  return {.accumulator_size = sizeof(T),
          .total_size = sizeof(T),
          .element_size = sizeof(T),
          .convert = converted_to < 0 ? nullptr : cast_row(dtype_index, converted_to),
          .flip = flip,
          .begin = begin_accumulators<Least<T>>,
          .accumulate = accumulate<Least<T>>,
          .begin_total = begin_accumulators<Least<T>>,
          .fold = fold_extremes<Least<T>>,
          .finish = finish_extremes<Result, T>};
}

template <class T>
constexpr std::uint64_t first_bit() {
  return std::uint64_t{1} << (8 * sizeof(T) - 1);
}

template <class T>
ReductionKernels float_extremes(int dtype_index, bool least) {
  return extremes<T>(dtype_index, least ? 0 : first_bit<T>());
}
template <class T>
ReductionKernels complex_extremes(int dtype_index, bool least) {
  return extremes<std::complex<T>>(dtype_index, least ? 0 : first_bit<T>());
}
template <class T>
ReductionKernels integer_extremes(int dtype_index, bool least) {
  std::uint64_t const flip = dtype_index == dtype_index_of<T> ? 0 : first_bit<T>();
  return extremes<T>(dtype_index, least ? flip : ~flip);
}

template <class T>
ReductionKernels extremes_of(int dtype_index, bool least) {
  if constexpr (std::is_same_v<T, bool>) {
    return extremes<std::int8_t>(dtype_index, least ? 0 : ~std::uint64_t{0}, dtype_index_of<std::int8_t>);
  } else if constexpr (is_complex<T>) {
    return complex_extremes<typename T::value_type>(dtype_index, least);
  } else if constexpr (is_reduced_float<T>) {
    return extremes<float, T>(dtype_index, least ? 0 : first_bit<float>(), dtype_index_of<float>);
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_extremes<T>(dtype_index, least);
  } else {
    static_assert(std::is_integral_v<T>);
    return integer_extremes<std::make_signed_t<T>>(dtype_index, least);
  }
}

}  // namespace

ReductionKernels extreme_kernels(int dtype_index, bool least) {
#define MEMARRAY_ENTRY(type, name, code, bits) extremes_of<type>,
  static constexpr ReductionKernels (*table[])(int, bool) = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  return table[dtype_index](dtype_index, least);
}

}  // namespace memarray::detail
