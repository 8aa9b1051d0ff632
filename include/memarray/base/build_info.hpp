#pragma once

#include <memarray/base/config.hpp>
#include <memarray/version.hpp>

#include <span>
#include <string_view>

namespace memarray {

/// One line of the description of a build.
struct BuildFact {
  std::string_view key;
  std::string_view value;
};

/// Returns facts such as version, abi, flavour ("host" or "cuda") and compilers; inapplicable ones are empty.
MEMARRAY_API std::span<BuildFact const> build_info() noexcept;

/// Throws `Error` unless this library matches that ABI and flavour.
MEMARRAY_API void require_abi(int header_abi, bool header_has_cuda);

/// The layout of a standard library's containers and strings.
enum class StandardLibrary : int {
  libstdcxx,        ///< GNU's, with C++11 strings
  debug_libstdcxx,  ///< GNU's with `_GLIBCXX_DEBUG`
  old_libstdcxx,    ///< GNU's with `_GLIBCXX_USE_CXX11_ABI=0`
  other,            ///< such as LLVM's
};

// The standard library for which this code is compiled.
#if !defined(__GLIBCXX__)
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::other
#elif !_GLIBCXX_USE_CXX11_ABI
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::old_libstdcxx
#elif defined(_GLIBCXX_DEBUG)
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::debug_libstdcxx
#else
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::libstdcxx
#endif

// Projects that compile libmemarray themselves define MEMARRAY_ANY_STANDARD_LIBRARY; Python modules then compare at
// import.
#if !defined(MEMARRAY_ANY_STANDARD_LIBRARY)
static_assert(MEMARRAY_STANDARD_LIBRARY == StandardLibrary::libstdcxx,
              "this code is compiled with _GLIBCXX_DEBUG, _GLIBCXX_USE_CXX11_ABI=0 or another standard library than "
              "libstdc++, and libmemarray is not: their containers or strings have another layout. Leave it out; "
              "-D_GLIBCXX_ASSERTIONS checks, too, and changes no layout");
#endif

/// Throws like `require_abi`, or for another standard library.
MEMARRAY_API void require_library(int header_abi, bool header_has_cuda, StandardLibrary header_library);

/// Calls `require_library` for the calling module.
inline void require_matching_library() {
  require_library(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0, MEMARRAY_STANDARD_LIBRARY);
}

}  // namespace memarray
