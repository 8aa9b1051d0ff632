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

/// For the start of a module that links libmemarray: passes on what its own compilation saw.
inline void require_matching_library() { require_abi(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0); }

}  // namespace memarray
