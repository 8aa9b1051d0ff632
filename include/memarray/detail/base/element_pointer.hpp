#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

/// Throws `BufferError`: memory is aligned to its dtype, but not to `wanted` bytes.
[[noreturn]] MEMARRAY_API void throw_misaligned(DType const& dtype, std::uintptr_t address, std::size_t wanted);

/// True if T requires more alignment than its dtype (and imported memory), like `cuda::std::complex`.
template <class T>
inline constexpr bool is_overaligned = [] {
  if constexpr (requires { dtype_traits<std::remove_cv_t<T>>::value; })
    return alignof(T) > dtype_traits<std::remove_cv_t<T>>::value.alignment;
  else
    return false;
}();

/// Throws `BufferError` if imported memory is not aligned to T.
template <class T, class Byte>
[[nodiscard]] T* elements_at(Byte* memory) {
  if constexpr (is_overaligned<T>) {
    auto const address = reinterpret_cast<std::uintptr_t>(memory);
    if (address % alignof(T) != 0) throw_misaligned(dtype_of<T>(), address, alignof(T));
  }
  return reinterpret_cast<T*>(memory);
}

}  // namespace memarray::detail
