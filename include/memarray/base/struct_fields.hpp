#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>

/// Like MEMARRAY_DTYPE, with fields for other libraries: `MEMARRAY_FIELDS(ns::Particle, position, mass, id);`. List all
/// members in order: numbers, bools, enums, chars, std::bytes, structs with a dtype, or arrays of these. Use an alias
/// for a type with a comma.
#define MEMARRAY_FIELDS(type, ...)                                                                   \
  template <>                                                                                        \
  struct memarray::dtype_traits<type> : memarray::detail::UserDTypeTraits<type> {                    \
    static_assert(std::is_standard_layout_v<type>,                                                   \
                  "memarray: the offsets of fields are known in a standard-layout struct only");     \
    static constexpr std::string_view name = #type;                                                  \
    static constexpr auto fields = std::to_array<memarray::detail::FieldSpec>(                       \
        {MEMARRAY_DETAIL_EXPAND(MEMARRAY_DETAIL_EACH_FIELD(type, __VA_ARGS__))});                    \
    static_assert(memarray::detail::cover(fields, sizeof(type), alignof(type)),                      \
                  "memarray: MEMARRAY_FIELDS names every member once, in the order of declaration"); \
    static memarray::StructFields const* intern() {                                                  \
      return memarray::detail::intern_fields(fields, sizeof(type), alignof(type));                   \
    }                                                                                                \
  }

#define MEMARRAY_DETAIL_PARENTHESES ()
#define MEMARRAY_DETAIL_EXPAND(...) \
  MEMARRAY_DETAIL_EXPAND3(MEMARRAY_DETAIL_EXPAND3(MEMARRAY_DETAIL_EXPAND3(MEMARRAY_DETAIL_EXPAND3(__VA_ARGS__))))
#define MEMARRAY_DETAIL_EXPAND3(...) \
  MEMARRAY_DETAIL_EXPAND2(MEMARRAY_DETAIL_EXPAND2(MEMARRAY_DETAIL_EXPAND2(MEMARRAY_DETAIL_EXPAND2(__VA_ARGS__))))
#define MEMARRAY_DETAIL_EXPAND2(...) \
  MEMARRAY_DETAIL_EXPAND1(MEMARRAY_DETAIL_EXPAND1(MEMARRAY_DETAIL_EXPAND1(MEMARRAY_DETAIL_EXPAND1(__VA_ARGS__))))
#define MEMARRAY_DETAIL_EXPAND1(...) __VA_ARGS__
#define MEMARRAY_DETAIL_EACH_FIELD(type, field, ...)                               \
  memarray::detail::field_of<decltype(type::field)>(#field, offsetof(type, field)) \
      __VA_OPT__(, MEMARRAY_DETAIL_NEXT_FIELD MEMARRAY_DETAIL_PARENTHESES(type, __VA_ARGS__))
#define MEMARRAY_DETAIL_NEXT_FIELD() MEMARRAY_DETAIL_EACH_FIELD

namespace memarray {

/// A run-time description of a field.
struct StructField {
  std::string name;
  std::uint32_t offset = 0;
  std::string typestr;                   ///< NumPy's, of one element; empty if nested
  StructFields const* nested = nullptr;  ///< of a nested struct
  std::vector<std::uint32_t> extents{};  ///< of a sub-array

  [[nodiscard]] MEMARRAY_API std::uint32_t nbytes() const noexcept;
  friend bool operator==(StructField const&, StructField const&) = default;
};

/// The fields of a struct dtype. Equal fields share one object, which is never freed.
struct StructFields {
  std::uint32_t itemsize = 0;
  std::vector<StructField> list;  ///< sorted by offset, without overlap
  std::string format;             ///< PEP 3118's, with padding: "T{=d:mass:…}"
  /// A dtype without a C++ type, named after the fields.
  DType dtype{};
};

/// Returns the one object for these fields. `alignment`, a power of two up to 64, is ignored if equal fields are known.
/// Throws `ValueError` for no fields, overlaps, wrong order, ends past `itemsize`, equal or invalid names, and typestrs
/// unknown to `field_itemsize`.
[[nodiscard]] MEMARRAY_API StructFields const* intern_struct(std::uint32_t itemsize, std::uint32_t alignment,
                                                             std::span<StructField const> fields);

/// Returns a typestr's bytes: a bool, number, text (S) or bytes (V) in native byte order; else 0.
[[nodiscard]] MEMARRAY_API std::uint32_t field_itemsize(std::string_view typestr) noexcept;

namespace detail {

struct FieldSpec {
  std::string_view name;
  std::size_t offset = 0;
  std::size_t size = 0;
  std::size_t alignment = 1;
  char kind = 'V';  ///< NumPy's letter
  std::uint32_t itemsize = 0;
  StructFields const* (*nested)() = nullptr;
  std::array<std::uint32_t, 8> extents{};
  std::uint32_t rank = 0;
};

template <class T>
struct FieldShape {
  using Element = T;
  static constexpr void append(FieldSpec&) noexcept {}
};
template <class T, std::size_t n>
struct FieldShape<T[n]> {
  using Element = typename FieldShape<T>::Element;
  static constexpr void append(FieldSpec& field) {
    field.extents.at(field.rank++) = static_cast<std::uint32_t>(n);
    FieldShape<T>::append(field);
  }
};
/// Matches `std::array`, also CUDA's.
template <class T>
  requires(!Element<T> &&
           requires {
             typename T::value_type;
             std::tuple_size<T>::value;
           } && sizeof(T) == std::tuple_size<T>::value * sizeof(typename T::value_type))
struct FieldShape<T> {
  using Element = typename FieldShape<typename T::value_type>::Element;
  static constexpr void append(FieldSpec& field) {
    field.extents.at(field.rank++) = static_cast<std::uint32_t>(std::tuple_size<T>::value);
    FieldShape<typename T::value_type>::append(field);
  }
};

template <class T>
consteval char field_kind() noexcept {
  if constexpr (std::is_enum_v<T> && !std::is_same_v<T, std::byte>)
    return field_kind<std::underlying_type_t<T>>();
  else if constexpr (std::is_same_v<T, bool>)
    return 'b';
  else if constexpr (std::is_same_v<T, char>)
    return 'S';
  else if constexpr (std::is_same_v<T, std::byte>)
    return 'u';
  else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8)
    return std::is_signed_v<T> ? 'i' : 'u';
  else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, float16>)
    return 'f';
  else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return 'c';
  else if constexpr (Element<T>)
    return 'V';  // bfloat16, which NumPy lacks, or a nested struct
  else
    return '\0';
}

template <class Member>
constexpr FieldSpec field_of(std::string_view name, std::size_t offset) {
  using T = std::remove_cv_t<typename FieldShape<std::remove_cv_t<Member>>::Element>;
  static_assert(field_kind<T>() != '\0',
                "memarray: a field is a number, a bool, an enum, a char, a struct with a dtype, or an array of these");
  FieldSpec field{.name = name,
                  .offset = offset,
                  .size = sizeof(Member),
                  .alignment = alignof(Member),
                  .kind = field_kind<T>(),
                  .itemsize = sizeof(T)};
  if constexpr (requires { dtype_traits<T>::fields; }) field.nested = &dtype_traits<T>::intern;
  FieldShape<std::remove_cv_t<Member>>::append(field);
  if (field.kind == 'S' && field.rank > 0) field.itemsize = field.extents[--field.rank];  // bytes of text
  return field;
}

/// True if the fields are in order and leave only alignment gaps.
template <std::size_t count>
consteval bool cover(std::array<FieldSpec, count> const& fields, std::size_t size, std::size_t alignment) {
  auto const up = [](std::size_t offset, std::size_t to) { return (offset + to - 1) / to * to; };
  std::size_t end = 0;
  for (FieldSpec const& field : fields) {
    if (field.offset != up(end, field.alignment) && field.offset != up(end, alignment)) return false;
    end = field.offset + field.size;
  }
  return up(end, alignment) == size;
}

[[nodiscard]] MEMARRAY_API StructFields const* intern_fields(std::span<FieldSpec const> fields, std::size_t itemsize,
                                                             std::size_t alignment);

}  // namespace detail
}  // namespace memarray
