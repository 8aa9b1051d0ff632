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

/// Returns facts about this build of libmemarray: version, abi, flavour ("host" or "cuda"), compilers, header versions.
/// A fact that does not apply (CUDA's, in a host build) has an empty value.
MEMARRAY_API std::span<BuildFact const> build_info() noexcept;

/// Throws `Error` unless this libmemarray works with code compiled against headers of that ABI and flavour.
MEMARRAY_API void require_abi(int header_abi, bool header_has_cuda);

/// A standard library, by the layout of its objects that cross the boundary of libmemarray.
enum class StandardLibrary : int {
  libstdcxx,        ///< GNU's, with the C++11 string layout
  debug_libstdcxx,  ///< GNU's with `_GLIBCXX_DEBUG`: containers hold data for their checks
  old_libstdcxx,    ///< GNU's with `_GLIBCXX_USE_CXX11_ABI=0`: the string layout before C++11
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

/// Throws `Error` if `require_abi` does, or if the code was compiled with a different standard library.
MEMARRAY_API void require_library(int header_abi, bool header_has_cuda, StandardLibrary header_library);

/// Calls `require_library` with the facts of the calling module's compilation, at the start of a module.
inline void require_matching_library() {
  require_library(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0, MEMARRAY_STANDARD_LIBRARY);
}

}  // namespace memarray
