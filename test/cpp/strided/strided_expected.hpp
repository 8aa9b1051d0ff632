#pragma once

#include "strided_test.hpp"

#include <memarray/detail/strided/strided_reduce.hpp>

#include <map>
#include <optional>

// Reference results of the kernels on strided views, computed element by element.
namespace memarray::test {

inline Numbers kept_of(Numbers const& index, detail::AxisMask axes) {
  Numbers kept;
  for (std::size_t d = 0; d < index.size(); ++d)
    if ((axes >> d & 1U) == 0) kept.push_back(index[d]);
  return kept;
}

inline bool has_nan(Number const& number) { return number.real != number.real || number.imag != number.imag; }

/// Returns the minimum or maximum of two elements, as NumPy does: a NaN if there is one.
inline Number better(detail::Reduction reduction, DType const& dtype, Number const& left, Number const& right) {
  if (has_nan(left)) return left;
  if (has_nan(right)) return right;
  bool less = right.real != left.real ? right.real < left.real : right.imag < left.imag;
  bool more = right.real != left.real ? right.real > left.real : right.imag > left.imag;
  if (dtype.dl.code == kDLInt) {
    less = static_cast<std::int64_t>(right.whole) < static_cast<std::int64_t>(left.whole);
    more = static_cast<std::int64_t>(left.whole) < static_cast<std::int64_t>(right.whole);
  } else if (is_integer(dtype)) {
    less = right.whole < left.whole;
    more = left.whole < right.whole;
  }
  return (reduction == detail::Reduction::min ? less : more) ? right : left;
}

/// Reduces a view in a plain loop. Returns each result, rounded to the result's dtype, by its kept indices. Returns
/// nothing for a minimum or maximum without elements, which NumPy refuses.
inline std::optional<std::map<Numbers, Number>> expected(detail::Reduction reduction, View const& view,
                                                         detail::AxisMask axes) {
  std::map<Numbers, Number> results;
  std::map<Numbers, std::int64_t> counts;
  DType const& dtype = detail::reduced_dtype(reduction, view.dtype());
  Numbers kept_shape = kept_of({view.layout().shape().begin(), view.layout().shape().end()}, axes);
  View::for_each_index(kept_shape, [&](Numbers const& index) { results[index] = {}; });
  View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
    Number const element = view.get(index);
    Numbers const kept = kept_of(index, axes);
    Number& result = results[kept];
    bool const first = counts[kept]++ == 0;
    if (reduction == detail::Reduction::sum || reduction == detail::Reduction::mean)
      result = {result.real + element.real, result.imag + element.imag, result.whole + element.whole};
    else
      result = first ? element : better(reduction, view.dtype(), result, element);
  });
  for (auto& [index, result] : results) {
    std::int64_t const count = counts[index];
    if (count == 0 && (reduction == detail::Reduction::min || reduction == detail::Reduction::max)) return std::nullopt;
    if (reduction == detail::Reduction::mean)
      result = {static_cast<double>(result.real) / static_cast<double>(count),
                static_cast<double>(result.imag) / static_cast<double>(count), 0};
    std::byte bytes[16];
    write(dtype, bytes, result);
    result = read(dtype, bytes);
  }
  return results;
}

/// Returns a number truncated toward zero, for the integer dtype `to`. NaN and numbers out of range give INT32_MIN or
/// INT64_MIN, as conversion instructions of x86 do.
inline std::uint64_t truncated(DType const& to, long double number) {
  bool const is_unsigned = to.dl.code == kDLUInt;
  bool const is_wide = to.itemsize == 8 || (is_unsigned && to.itemsize == 4);
  long double const end = is_wide ? 0x1p63L : 0x1p31L;
  auto const whole = [&](long double value) {
    if (value >= -end && value < end) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return static_cast<std::uint64_t>(is_wide ? INT64_MIN : std::int64_t{INT32_MIN});
  };
  if (is_unsigned && to.itemsize == 8 && number >= 0x1p63L) return whole(number - 0x1p63L) ^ (std::uint64_t{1} << 63);
  return whole(number);
}

/// Returns an element of dtype `from`, cast to dtype `to`.
inline Number as_number(DType const& from, DType const& to, Number number) {
  bool const was_integer = is_integer(from);
  if (to == dtype_of<bool>()) {
    number.whole = (was_integer ? number.whole != 0 : number.real != 0 || number.imag != 0) ? 1 : 0;
  } else if (is_integer(to) && !was_integer) {
    number.whole = truncated(to, number.real);
  }
  std::byte bytes[16];
  write(to, bytes, number);
  return read(to, bytes);
}

}  // namespace memarray::test
