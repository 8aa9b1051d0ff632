#pragma once

#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/strided_operand.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Views of any layout, and plain loops over all indices to compare kernels with.
namespace memarray::test {

using Numbers = std::vector<std::int64_t>;

#if !defined(MEMARRAY_TEST_EVERY_INSTANCE)
#define MEMARRAY_TEST_EVERY_INSTANCE 1
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool tries_all = false;  // each takes ten times as long
#else
inline constexpr bool tries_all = MEMARRAY_TEST_EVERY_INSTANCE;
#endif
/// Returns the number of random cases to try.
constexpr int rounds(int all) { return tries_all ? all : all / 10; }
/// True if a dtype is tried with every layout: all dtypes, or some that represent the others.
inline bool is_tried(DType const& dtype) {
  constexpr std::array<std::string_view, 6> some{"bool", "int16", "uint64", "bfloat16", "float32", "complex64"};
  return tries_all || std::ranges::find(some, dtype.name_view()) != some.end();
}

/// An element of any shipped dtype: the bits of an integer, or the parts of another number.
struct Number {
  long double real = 0;
  long double imag = 0;
  std::uint64_t whole = 0;
};

/// Calls `f` with a value of the C++ type of a shipped dtype.
template <class F>
void with_type(DType const& dtype, F const& f) {
#define MEMARRAY_CASE(type, name, code, bits) \
  if (dtype == dtype_of<type>()) f(type{});
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_CASE)
#undef MEMARRAY_CASE
}

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

inline Number read(DType const& dtype, std::byte const* address) {
  Number number;
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      number.whole = *address != std::byte{0} ? 1 : 0;
      number.real = static_cast<long double>(number.whole);
    } else {
      T value;
      std::memcpy(&value, address, sizeof(value));
      if constexpr (is_complex_type<T>) {
        number = {value.real(), value.imag(), 0};
      } else {
        if constexpr (std::is_integral_v<T>) number.whole = static_cast<std::uint64_t>(value);
        number.real = static_cast<long double>(value);
      }
    }
  });
  return number;
}

/// Returns a double that rounds to fewer bits exactly as `number` does (round to odd: any discarded bit sets the last
/// bit).
inline double to_double(long double number) {
  auto nearest = static_cast<double>(number);
  if (static_cast<long double>(nearest) == number || !std::isfinite(nearest)) return nearest;
  if (std::abs(static_cast<long double>(nearest)) > std::abs(number)) nearest = std::nextafter(nearest, 0.0);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(nearest) | 1U);
}

/// Writes `whole` to integers, and the rounded parts to all other types.
inline void write(DType const& dtype, std::byte* address, Number const& number) {
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    T value;
    if constexpr (is_complex_type<T>)
      value = T(static_cast<typename T::value_type>(number.real), static_cast<typename T::value_type>(number.imag));
    else if constexpr (std::is_same_v<T, bool>)
      value = number.whole != 0;
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(number.whole);
    else if constexpr (sizeof(T) < sizeof(double))
      value = static_cast<T>(to_double(number.real));
    else
      value = static_cast<T>(number.real);
    std::memcpy(address, &value, sizeof(value));
  });
}

template <class T>
struct Limits {
  static constexpr long double largest = std::numeric_limits<T>::max();
  static constexpr long double least_normal = std::numeric_limits<T>::min();
  static constexpr long double least = std::numeric_limits<T>::denorm_min();
};
template <>
struct Limits<float16> {
  static constexpr long double largest = 65504;
  static constexpr long double least_normal = 0x1p-14L;
  static constexpr long double least = 0x1p-24L;
};
template <>
struct Limits<bfloat16> {
  static constexpr long double largest = 0x1.FEp127L;
  static constexpr long double least_normal = 0x1p-126L;
  static constexpr long double least = 0x1p-133L;
};
template <class T>
struct Limits<std::complex<T>> : Limits<T> {};

/// Returns the values of a dtype that conversions and comparisons get wrong: its limits, -1, 0, 1, -0.0, the least
/// numbers, infinities and NaN. Complex dtypes get all pairs.
inline std::vector<Number> edges(DType const& dtype) {
  std::vector<Number> values;
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      values = {{0, 0, 0}, {1, 0, 1}};
    } else if constexpr (std::is_integral_v<T>) {
      constexpr T most = std::numeric_limits<T>::max();
      for (T const value : {std::numeric_limits<T>::min(), most, static_cast<T>(most - 1), static_cast<T>(most / 2 + 1),
                            T{0}, T{1}, static_cast<T>(-1)})
        values.push_back({static_cast<long double>(value), 0, static_cast<std::uint64_t>(value)});
    } else {
      using L = Limits<T>;
      constexpr long double infinity = std::numeric_limits<long double>::infinity();
      std::vector<long double> parts{std::numeric_limits<long double>::quiet_NaN()};
      for (long double const part : {0.0L, 1.0L, 2.5L, L::largest, L::least_normal, L::least, infinity})
        for (long double const sign : {1.0L, -1.0L}) parts.push_back(sign * part);
      for (long double const real : parts)
        for (long double const imag : parts) {
          values.push_back({real, is_complex_type<T> ? imag : 0, 0});
          if constexpr (!is_complex_type<T>) break;
        }
    }
  });
  return values;
}

inline bool is_integer(DType const& dtype) {
  return dtype.dl.code == kDLBool || dtype.dl.code == kDLInt || dtype.dl.code == kDLUInt;
}

/// True if both are equal or both are NaN; -0 equals 0.
inline bool same(Number const& left, Number const& right) {
  auto const equal = [](long double a, long double b) { return a == b || (a != a && b != b); };
  return left.whole == right.whole && equal(left.real, right.real) && equal(left.imag, right.imag);
}

/// True if `same` holds and the signs are equal, also for zeros.
inline bool same_with_sign(Number const& left, Number const& right) {
  auto const equal = [](long double a, long double b) { return a != a || std::signbit(a) == std::signbit(b); };
  return same(left, right) && equal(left.real, right.real) && equal(left.imag, right.imag);
}

/// Memory with a view in it. Writes between the elements are detected.
class View {
 public:
  View(DType const& dtype, StridedLayout const& layout) : _dtype(&dtype), _layout(layout) {
    auto const span = layout.span(dtype.itemsize);
    _offset = static_cast<std::size_t>(-span.first) + margin;
    _memory.assign(static_cast<std::size_t>(span.last - span.first) + 2 * margin, std::byte{0xA5});
  }
  View(DType const& dtype, Numbers const& shape) : View(dtype, StridedLayout::dense(shape, dtype.itemsize)) {}

  [[nodiscard]] DType const& dtype() const { return *_dtype; }
  [[nodiscard]] StridedLayout const& layout() const { return _layout; }
  [[nodiscard]] detail::StridedSource source() const { return {data(), *_dtype, _layout}; }
  [[nodiscard]] detail::StridedTarget target() { return {_memory.data() + _offset, *_dtype, _layout}; }
  [[nodiscard]] std::byte const* data() const { return _memory.data() + _offset; }

  /// Returns the offset of the element at `index`.
  [[nodiscard]] std::int64_t place(Numbers const& index) const {
    std::int64_t offset = 0;
    for (int d = 0; d < _layout.ndim(); ++d) offset += index[static_cast<std::size_t>(d)] * _layout.stride(d);
    return offset;
  }
  [[nodiscard]] Number get(Numbers const& index) const { return read(*_dtype, data() + place(index)); }
  void set(Numbers const& index, Number const& number) {
    write(*_dtype, _memory.data() + _offset + place(index), number);
  }
  /// True if only elements have been written.
  [[nodiscard]] bool surroundings_are_whole() const {
    std::vector<std::byte> memory = _memory;
    auto* const first = memory.data() + _offset;
    for_each_index(_layout.shape(),
                   [&](Numbers const& index) { std::memset(first + place(index), 0xA5, _dtype->itemsize); });
    return std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0xA5}; });
  }

  template <class F>
  static void for_each_index(StridedLayout::Extents shape, F const& f) {
    Numbers index(shape.size());
    if (std::ranges::find(shape, 0) != shape.end()) return;
    for (;;) {
      f(std::as_const(index));
      std::size_t d = shape.size();
      while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
      if (d == 0) return;
    }
  }

 private:
  static constexpr std::size_t margin = 64;
  DType const* _dtype;
  StridedLayout _layout;
  std::size_t _offset = 0;
  std::vector<std::byte> _memory;
};

/// A source of random views. Failing tests print the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : _engine(seed) {}

  std::int64_t below(std::int64_t end) {
    return static_cast<std::int64_t>(_engine() % static_cast<std::uint64_t>(std::max<std::int64_t>(end, 1)));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }

  Numbers shape(int ndim, std::int64_t most_elements) {
    Numbers result(static_cast<std::size_t>(ndim), 1);
    std::int64_t size = 1;
    for (std::int64_t& extent : result) {
      std::int64_t const most = std::max<std::int64_t>(1, most_elements / size);
      extent = one_in(12) ? below(2) : 1 + below(std::min<std::int64_t>(most, one_in(3) ? 70 : 7));
      size *= std::max<std::int64_t>(extent, 1);
    }
    std::ranges::shuffle(result, _engine);
    return result;
  }

  /// Returns a layout with dimensions in any order, some flipped, with gaps, and if `broadcast` some of stride 0.
  StridedLayout layout(Numbers const& shape, std::size_t itemsize, bool broadcast) {
    std::vector<std::size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0U);
    if (one_in(2))
      std::ranges::shuffle(order, _engine);
    else if (one_in(2))
      std::ranges::reverse(order);
    Numbers strides(shape.size());
    bool const gaps = one_in(2);
    auto stride = static_cast<std::int64_t>(itemsize) * (gaps && one_in(3) ? 1 + below(4) : 1);
    for (std::size_t const d : order) {
      strides[d] = one_in(4) ? -stride : stride;
      if (broadcast && one_in(6)) strides[d] = 0;
      if (strides[d] != 0) stride *= std::max<std::int64_t>(shape[d], 1);
      if (gaps && one_in(3)) stride += static_cast<std::int64_t>(itemsize) * below(4);
    }
    return StridedLayout::strided(shape, strides, itemsize);
  }

  /// Fills with integers of all sizes, or, if `small`, of a size whose sums are exact in double. Other numbers are
  /// multiples of 1/8.
  void fill(View& view, bool small, bool with_nan = false) {
    View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
      Number number;
      auto const eighths = static_cast<long double>(below(513) - 256);
      number.real = eighths / 8;
      number.imag = static_cast<long double>(below(9) - 4) / 8;
      number.whole = small ? static_cast<std::uint64_t>(below(100)) : _engine();
      if (view.dtype() == dtype_of<bool>()) number.whole = one_in(3) ? 0 : 1;
      if (with_nan && one_in(20))
        (one_in(2) ? number.real : number.imag) = std::numeric_limits<long double>::quiet_NaN();
      view.set(index, number);
    });
  }

  /// Fills with edge values among numbers of all sizes.
  void fill_with_edges(View& view) {
    fill(view, false);
    std::vector<Number> const all = edges(view.dtype());
    std::int64_t const every = 1 + below(8);
    View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
      if (one_in(every)) view.set(index, all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))]);
    });
  }

  std::mt19937_64& engine() { return _engine; }

 private:
  std::mt19937_64 _engine;
};

}  // namespace memarray::test
