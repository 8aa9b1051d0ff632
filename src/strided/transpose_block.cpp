#include "transpose_block.hpp"

#include "nontemporal.hpp"
#include "simd_targets.hpp"

#include "simd_level.hpp"

#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memarray::detail {
namespace {

constexpr std::size_t line = 64;

template <class Word, std::size_t side>
struct Square {
  typedef Word Vector __attribute__((vector_size(side * sizeof(Word))));

  /// Swaps the off-diagonal quarters of each square of 2 * `half`.
  template <std::size_t half, std::size_t... lanes>
  MEMARRAY_ALWAYS_INLINE static void swap_quarters(Vector& upper, Vector& lower, std::index_sequence<lanes...>) {
    Vector const first = __builtin_shufflevector(upper, lower, ((lanes & half) == 0 ? lanes : lanes - half + side)...);
    lower = __builtin_shufflevector(upper, lower, ((lanes & half) == 0 ? lanes + half : lanes + side)...);
    upper = first;
  }

  template <std::size_t half>
  MEMARRAY_ALWAYS_INLINE static void transpose(Vector (&rows)[side]) {
    if constexpr (half > 0) {
#pragma GCC unroll 64
      for (std::size_t i = 0; i < side; ++i)
        if ((i & half) == 0) swap_quarters<half>(rows[i], rows[i + half], std::make_index_sequence<side>());
      transpose<half / 2>(rows);
    }
  }

  MEMARRAY_ALWAYS_INLINE static void copy(std::byte const* source, std::int64_t source_stride, std::byte* target,
                                          std::int64_t target_stride) {
    Vector rows[side];
#pragma GCC unroll 64
    for (std::size_t i = 0; i < side; ++i)
      std::memcpy(&rows[i], source + static_cast<std::int64_t>(i) * source_stride, sizeof(Vector));
    transpose<side / 2>(rows);
#pragma GCC unroll 64
    for (std::size_t i = 0; i < side; ++i)
      std::memcpy(target + static_cast<std::int64_t>(i) * target_stride, &rows[i], sizeof(Vector));
  }
};

template <class Word>
MEMARRAY_ALWAYS_INLINE void copy_ragged(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows,
                                        std::int64_t columns) {
  for (std::int64_t i = top; i < top + rows; ++i)
    for (std::int64_t j = left; j < left + columns; ++j)
      std::memcpy(block.target + i * block.target_row + j * block.target_column,
                  block.source + i * block.source_row + j * block.source_column, sizeof(Word));
}

template <class Word, std::size_t side, std::size_t count>
MEMARRAY_ALWAYS_INLINE void transpose_nontemporal(std::byte const* source, std::int64_t source_stride,
                                                  std::byte* target, std::int64_t target_stride) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(Word));
  constexpr auto bytes = static_cast<std::int64_t>(count * line);
  alignas(line) std::byte lines[side * count * line];
  for (std::int64_t j = 0; j < bytes / item; j += static_cast<std::int64_t>(side))
    Square<Word, side>::copy(source + j * source_stride, source_stride, lines + j * item, bytes);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(side); ++i)
    copy_nontemporal(target + i * target_stride, lines + i * bytes, count * line);
}

/// Transposes bands of columns. Each fills whole lines of the target and reads the source line by line.
template <class Word, std::size_t side>
MEMARRAY_ALWAYS_INLINE void transpose_bands(CopyBlock const& block, bool nontemporal) {
  constexpr auto item = static_cast<std::int64_t>(sizeof(Word));
  constexpr auto square = static_cast<std::int64_t>(side);
  constexpr auto of_line = static_cast<std::int64_t>(line) / item;
  constexpr std::size_t many_lines = 8;
  std::int64_t const rows = block.rows / square * square;
  std::int64_t left = 0;
  // Rows at different offsets in a line split lines; wider bands split fewer.
  bool const aligned = block.target_row % static_cast<std::int64_t>(line) == 0;
  if (nontemporal && aligned) {
    auto const off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(block.target) % line) / item;
    left = off == 0 ? 0 : std::min(block.columns, of_line - off);
    copy_ragged<Word>(block, 0, 0, rows, left);
  }
  std::int64_t const band = nontemporal && !aligned ? of_line * static_cast<std::int64_t>(many_lines) : of_line;
  for (; left + band <= block.columns; left += band) {
    for (std::int64_t top = 0; top < rows; top += square) {
      std::byte const* const source = block.source + top * item + left * block.source_column;
      std::byte* const target = block.target + top * block.target_row + left * item;
      if (!nontemporal)
        for (std::int64_t j = 0; j < band; j += square)
          Square<Word, side>::copy(source + j * block.source_column, block.source_column, target + j * item,
                                   block.target_row);
      else if (aligned)
        transpose_nontemporal<Word, side, 1>(source, block.source_column, target, block.target_row);
      else
        transpose_nontemporal<Word, side, many_lines>(source, block.source_column, target, block.target_row);
    }
  }
  for (; left + square <= block.columns; left += square)
    for (std::int64_t top = 0; top < rows; top += square)
      Square<Word, side>::copy(block.source + top * item + left * block.source_column, block.source_column,
                               block.target + top * block.target_row + left * item, block.target_row);
  copy_ragged<Word>(block, 0, left, rows, block.columns - left);
  copy_ragged<Word>(block, rows, 0, block.rows - rows, block.columns);
}

// Sides match the width of registers.
void transpose_portable(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
  switch (itemsize) {
    case 1: return transpose_bands<std::uint8_t, 16>(block, nontemporal);
    case 2: return transpose_bands<std::uint16_t, 8>(block, nontemporal);
    case 4: return transpose_bands<std::uint32_t, 4>(block, nontemporal);
    default: return transpose_bands<std::uint64_t, 2>(block, nontemporal);
  }
}
#if defined(MEMARRAY_SIMD_TARGETS)
MEMARRAY_AVX2 void transpose_avx2(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
  if (itemsize == 4) return transpose_bands<std::uint32_t, 8>(block, nontemporal);
  transpose_bands<std::uint64_t, 4>(block, nontemporal);
}
MEMARRAY_AVX512 void transpose_avx512(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
  if (itemsize == 4) return transpose_bands<std::uint32_t, 16>(block, nontemporal);
  transpose_bands<std::uint64_t, 8>(block, nontemporal);
}
#endif

}  // namespace

void transpose_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
#if defined(MEMARRAY_SIMD_TARGETS)
  if (itemsize == 4 || itemsize == 8) switch (widest_simd_level()) {
      case SimdLevel::avx512: return transpose_avx512(block, itemsize, nontemporal);
      case SimdLevel::avx2: return transpose_avx2(block, itemsize, nontemporal);
      case SimdLevel::baseline: break;
    }
#endif
  transpose_portable(block, itemsize, nontemporal);
}

}  // namespace memarray::detail
