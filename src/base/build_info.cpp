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

}  // namespace memarray
