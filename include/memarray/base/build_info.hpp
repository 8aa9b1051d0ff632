#pragma once

#include <memarray/base/config.hpp>
#include <memarray/version.hpp>

#include <span>
#include <string_view>

namespace memarray {

struct BuildFact {
  std::string_view key;
  std::string_view value;
};

/// What this libmemarray was built as: version, abi, flavour ("host" or "cuda"), compilers, header versions.
/// Facts that do not apply (CUDA's, in a host build) are there with an empty value.
MEMARRAY_API std::span<BuildFact const> build_info() noexcept;

/// Throws Error, in words, unless this libmemarray serves code compiled with headers of that ABI and flavour.
MEMARRAY_API void require_abi(int header_abi, bool header_has_cuda);

/// How the standard library of a compilation lays out what code and libmemarray hand to each other.
enum class StandardLibrary : int {
  libstdcxx,        ///< GNU's, with strings of C++11
  debug_libstdcxx,  ///< the same with `_GLIBCXX_DEBUG`: containers carry what they check
  old_libstdcxx,    ///< with `_GLIBCXX_USE_CXX11_ABI=0`: strings of before C++11
  other,            ///< another library, such as LLVM's
};

#if !defined(__GLIBCXX__)
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::other
#elif !_GLIBCXX_USE_CXX11_ABI
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::old_libstdcxx
#elif defined(_GLIBCXX_DEBUG)
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::debug_libstdcxx
#else
#define MEMARRAY_STANDARD_LIBRARY ::memarray::StandardLibrary::libstdcxx
#endif

/// Like `require_abi`, also for the standard library that code was compiled with.
MEMARRAY_API void require_library(int header_abi, bool header_has_cuda, StandardLibrary header_library);

/// For the start of a module that links libmemarray: passes on what its own compilation saw.
inline void require_matching_library() {
  require_library(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0, MEMARRAY_STANDARD_LIBRARY);
}

}  // namespace memarray
