#pragma once

#include <cstddef>
#include <cstdint>

#include <dlpack/dlpack.h>

namespace memarray::detail {

/// A function that converts `count` elements, adjacent on both sides.
using CastRow = void (*)(std::byte const* source, std::byte* target, std::int64_t count);

/// The dtypes whose conversions are compiled in one source.
enum class CastGroup { signed_integers, unsigned_integers, floats };
/// Returns the group of a DLPack type code; bool is among the signed integers.
[[nodiscard]] constexpr CastGroup cast_group_of(int code) noexcept {
  switch (code) {
    case kDLBool:
    case kDLInt: return CastGroup::signed_integers;
    case kDLUInt: return CastGroup::unsigned_integers;
    default: return CastGroup::floats;
  }
}

/// Returns the conversion between shipped dtypes, given by their positions in the dtype list.
[[nodiscard]] CastRow cast_row(int from, int to);

}  // namespace memarray::detail
