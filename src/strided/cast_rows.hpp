#pragma once

#include <cstddef>
#include <cstdint>

#include <dlpack/dlpack.h>

namespace memarray::detail {

/// A conversion of `count` elements, adjacent on both sides.
using CastRow = void (*)(std::byte const* source, std::byte* target, std::int64_t count);

/// Source dtypes whose conversions share a .cpp file, as they compile slowly.
enum class CastGroup { signed_integers, unsigned_integers, floats };
/// `code`: DLPack's type code.
[[nodiscard]] constexpr CastGroup cast_group_of(int code) noexcept {
  switch (code) {
    case kDLBool:
    case kDLInt: return CastGroup::signed_integers;
    case kDLUInt: return CastGroup::unsigned_integers;
    default: return CastGroup::floats;
  }
}

/// Returns the conversion between two positions in the dtype list.
[[nodiscard]] CastRow cast_row(int from, int to);

}  // namespace memarray::detail
