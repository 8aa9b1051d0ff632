#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dlpack/dlpack.h>

#include <memarray/base/config.hpp>
#include <memarray/base/float16.hpp>

/// The shipped element types: X(C++ type, name, DLPack code, bits).
#define MEMARRAY_FOR_EACH_DTYPE(X)                  \
  X(bool, bool, kDLBool, 8)                         \
  X(std::int8_t, int8, kDLInt, 8)                   \
  X(std::int16_t, int16, kDLInt, 16)                \
  X(std::int32_t, int32, kDLInt, 32)                \
  X(std::int64_t, int64, kDLInt, 64)                \
  X(std::uint8_t, uint8, kDLUInt, 8)                \
  X(std::uint16_t, uint16, kDLUInt, 16)             \
  X(std::uint32_t, uint32, kDLUInt, 32)             \
  X(std::uint64_t, uint64, kDLUInt, 64)             \
  X(memarray::float16, float16, kDLFloat, 16)       \
  X(memarray::bfloat16, bfloat16, kDLBfloat, 16)    \
  X(float, float32, kDLFloat, 32)                   \
  X(double, float64, kDLFloat, 64)                  \
  X(std::complex<float>, complex64, kDLComplex, 64) \
  X(std::complex<double>, complex128, kDLComplex, 128)

/// Makes a trivially copyable struct an element type, named as written: `MEMARRAY_DTYPE(ns::Particle);` in the global
/// namespace. NumPy sees plain bytes; MEMARRAY_FIELDS also declares fields.
#define MEMARRAY_DTYPE(...)                                                                     \
  template <>                                                                                   \
  struct memarray::dtype_traits<__VA_ARGS__> : memarray::detail::UserDTypeTraits<__VA_ARGS__> { \
    static constexpr std::string_view name = #__VA_ARGS__;                                      \
  }

namespace memarray {

struct StructFields;

/// A run-time description of an element type. `init` is valid while the type's program or library is loaded, also in
/// copies.
struct DType {
  char name[64] = {};     ///< NumPy's; for structs C++'s, or "struct{…}"
  char typestr[16] = {};  ///< NumPy's, such as "<f4"; empty for bfloat16
  char format[16] = {};   ///< PEP 3118's; empty for bfloat16 and structs
  DLDataType dl = {};     ///< `lanes` is 0 for structs, which DLPack lacks
  std::uint32_t itemsize = 0;
  std::uint32_t alignment = 0;
  void const* init = nullptr;            ///< bytes of T(); null if all zero
  StructFields const* fields = nullptr;  ///< null if unknown

  [[nodiscard]] constexpr std::string_view name_view() const noexcept { return name; }
  [[nodiscard]] constexpr bool has_dlpack() const noexcept { return dl.lanes != 0; }
  [[nodiscard]] constexpr bool is_struct() const noexcept { return dl.code == kDLOpaqueHandle; }

  /// Compares fields if both are known, else name, size and DLPack type.
  friend constexpr bool operator==(DType const& left, DType const& right) noexcept {
    if (left.fields && right.fields) return left.fields == right.fields;
    return left.name_view() == right.name_view() && left.itemsize == right.itemsize && left.dl.code == right.dl.code &&
           left.dl.bits == right.dl.bits && left.dl.lanes == right.dl.lanes;
  }
};
static_assert(std::is_trivially_copyable_v<DType>);

template <class T>
struct dtype_traits;

/// True if T has a dtype.
template <class T>
concept Element = requires { dtype_traits<std::remove_cv_t<T>>::name; };

/// Returns the dtypes for which arrays, casts and kernels are compiled.
MEMARRAY_API std::span<DType const> shipped_dtypes() noexcept;

/// Returns a shipped dtype by name ("float64"), or null. Valid forever.
MEMARRAY_API DType const* find_dtype(std::string_view name) noexcept;

/// Returns a shipped dtype by DLPack type, or null.
MEMARRAY_API DType const* find_dtype(DLDataType type) noexcept;

namespace detail {

template <std::size_t size>
constexpr void assign_text(char (&target)[size], std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size() && i + 1 < size; ++i) {
    target[i] = text[i];
  }
}

constexpr void append_number(char* target, std::uint32_t number) noexcept {
  char digits[10] = {};
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) {
    *target++ = digits[--count];
  }
}

constexpr char typestr_kind(std::uint8_t code) noexcept {
  switch (code) {
    case kDLBool: return 'b';
    case kDLInt: return 'i';
    case kDLUInt: return 'u';
    case kDLFloat: return 'f';
    case kDLComplex: return 'c';
    default: return '\0';
  }
}

/// Prefers `long` for 64 bits, like NumPy.
constexpr std::string_view buffer_format(std::uint8_t code, int bits) noexcept {
  constexpr bool long_is_64 = std::numeric_limits<long>::digits == 63;
  switch (code) {
    case kDLBool: return "?";
    case kDLInt: return bits == 8 ? "b" : bits == 16 ? "h" : bits == 32 ? "i" : long_is_64 ? "l" : "q";
    case kDLUInt: return bits == 8 ? "B" : bits == 16 ? "H" : bits == 32 ? "I" : long_is_64 ? "L" : "Q";
    case kDLFloat: return bits == 16 ? "e" : bits == 32 ? "f" : "d";
    case kDLComplex: return bits == 64 ? "Zf" : "Zd";
    default: return "";
  }
}

template <class T>
constexpr DType make_shipped_dtype(std::string_view name, std::uint8_t code, int bits) noexcept {
  DType result;
  assign_text(result.name, name);
  assign_text(result.format, buffer_format(code, bits));
  if (char const kind = typestr_kind(code); kind != '\0') {
    result.typestr[0] = sizeof(T) == 1 ? '|' : '<';
    result.typestr[1] = kind;
    append_number(result.typestr + 2, sizeof(T));
  }
  result.dl = DLDataType{code, static_cast<std::uint8_t>(bits), 1};
  result.itemsize = sizeof(T);
  result.alignment = alignof(T);
  return result;
}

template <class T>
struct UserDTypeTraits {
  static_assert(std::is_trivially_copyable_v<T>,
                "memarray: elements are moved as bytes, so their type must be trivially copyable");
  static_assert(std::is_default_constructible_v<T>,
                "memarray: new elements are T(), so their type needs a default constructor");
  static_assert(std::in_range<std::uint32_t>(sizeof(T)) && alignof(T) <= 64);
};

/// Returns `DType::init`, padding zeroed.
template <class T>
void const* init_pattern() noexcept {
  alignas(T) static unsigned char bytes[sizeof(T)];
  ::new (static_cast<void*>(bytes)) T();
  for (unsigned char const byte : bytes) {
    if (byte != 0) {
      return bytes;
    }
  }
  return nullptr;
}

template <class T>
DType make_user_dtype() noexcept {
  DType result;
  constexpr std::string_view name = dtype_traits<T>::name;
  static_assert(name.size() < sizeof(result.name), "memarray: the type's name is too long; use an alias");
  assign_text(result.name, name);
  assign_text(result.typestr, "|V");
  append_number(result.typestr + 2, sizeof(T));
  result.dl = DLDataType{kDLOpaqueHandle, 0, 0};
  result.itemsize = sizeof(T);
  result.alignment = alignof(T);
  result.init = init_pattern<T>();
  if constexpr (requires { dtype_traits<T>::fields; }) result.fields = dtype_traits<T>::intern();
  return result;
}

}  // namespace detail

#define MEMARRAY_DEFINE_DTYPE_TRAITS(type, spelling, code, bits)                       \
  template <>                                                                          \
  struct dtype_traits<type> {                                                          \
    static_assert(sizeof(type) * 8 == (bits));                                         \
    static constexpr std::string_view name = #spelling;                                \
    static constexpr DType value = detail::make_shipped_dtype<type>(name, code, bits); \
  };
MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_DEFINE_DTYPE_TRAITS)
#undef MEMARRAY_DEFINE_DTYPE_TRAITS

namespace detail {

template <class T>
DType const& unqualified_dtype_of() noexcept {
  static_assert(Element<T>,
                "memarray: this type has no dtype; write MEMARRAY_FIELDS(your::Type, its, fields); or "
                "MEMARRAY_DTYPE(your::Type); in the global namespace");
  if constexpr (requires { dtype_traits<T>::value; }) {
    return dtype_traits<T>::value;
  } else {
    static DType const value = make_user_dtype<T>();
    return value;
  }
}

}  // namespace detail

/// Returns the dtype, valid while the calling program or library is loaded.
template <class T>
DType const& dtype_of() noexcept {
  return detail::unqualified_dtype_of<std::remove_cv_t<T>>();
}

}  // namespace memarray
