#include <memarray/base/build_info.hpp>

#include <memarray/base/errors.hpp>

#include <build_config.hpp>

#include <string>

#define MEMARRAY_QUOTE_VALUE(x) #x
#define MEMARRAY_QUOTE(x) MEMARRAY_QUOTE_VALUE(x)

namespace memarray {
namespace {

constexpr BuildFact facts[] = {
    {"version", MEMARRAY_BUILD_VERSION},
    {"abi", MEMARRAY_QUOTE(MEMARRAY_ABI_VERSION)},
    {"flavour", MEMARRAY_BUILD_FLAVOUR},
    {"build_type", MEMARRAY_BUILD_TYPE},
    {"sanitize", MEMARRAY_BUILD_SANITIZE},
    {"compiler", MEMARRAY_BUILD_COMPILER},
    {"cuda_compiler", MEMARRAY_BUILD_CUDA_COMPILER},
    {"cuda_architectures", MEMARRAY_BUILD_CUDA_ARCHITECTURES},
    {"cccl", MEMARRAY_BUILD_CCCL_VERSION},
    {"dlpack", MEMARRAY_BUILD_DLPACK_VERSION},
};

char const* flavour(bool has_cuda) { return has_cuda ? "cuda" : "host"; }

char const* describe(StandardLibrary library) {
  switch (library) {
    case StandardLibrary::libstdcxx: return "libstdc++";
    case StandardLibrary::debug_libstdcxx: return "libstdc++ with _GLIBCXX_DEBUG";
    case StandardLibrary::old_libstdcxx: return "libstdc++ with _GLIBCXX_USE_CXX11_ABI=0";
    case StandardLibrary::other: break;
  }
  return "another C++ standard library than libstdc++";
}

}  // namespace

std::span<BuildFact const> build_info() noexcept { return facts; }

void require_abi(int header_abi, bool header_has_cuda) {
  bool const has_cuda = MEMARRAY_HAS_CUDA != 0;
  if (header_abi == MEMARRAY_ABI_VERSION && header_has_cuda == has_cuda) {
    return;
  }
  throw Error("this module was compiled against memarray with ABI " + std::to_string(header_abi) + ", flavour " +
              flavour(header_has_cuda) + ", but the memarray installed here (" MEMARRAY_BUILD_VERSION ") has ABI " +
              std::to_string(MEMARRAY_ABI_VERSION) + ", flavour " + flavour(has_cuda) +
              ": build the module again against it");
}

void require_library(int header_abi, bool header_has_cuda, StandardLibrary header_library) {
  require_abi(header_abi, header_has_cuda);
  if (header_library == MEMARRAY_STANDARD_LIBRARY) return;
  throw Error(std::string("this module was compiled with ") + describe(header_library) +
              ", but the memarray installed here (" MEMARRAY_BUILD_VERSION ") with " +
              describe(MEMARRAY_STANDARD_LIBRARY) +
              ", whose containers or strings have another layout: build the module again with the latter "
              "(-D_GLIBCXX_ASSERTIONS checks, too, and changes no layout)");
}

}  // namespace memarray
