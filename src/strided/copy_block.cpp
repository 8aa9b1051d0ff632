#include "copy_block.hpp"

#include "simd_targets.hpp"
#include "transpose_block.hpp"

#include "simd_level.hpp"

#include <memarray/base/config.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace memarray::detail {
namespace {

template <std::size_t itemsize>
struct Item {
  std::byte bytes[itemsize];
};

template <std::size_t itemsize>
MEMARRAY_ALWAYS_INLINE void copy_item(std::byte* target, std::byte const* source) {
  Item<itemsize> item;
  std::memcpy(&item, source, itemsize);
  std::memcpy(target, &item, itemsize);
}

/// Copies to a dense row from a compile-time stride, which compilers vectorise.
template <std::size_t itemsize, std::int64_t step>
MEMARRAY_ALWAYS_INLINE void copy_row_by(std::byte* __restrict target, std::byte const* __restrict source,
                                        std::int64_t count) {
  constexpr auto item = static_cast<std::int64_t>(itemsize);
  for (std::int64_t j = 0; j < count; ++j) copy_item<itemsize>(target + j * item, source + j * step * item);
}

template <std::size_t itemsize>
MEMARRAY_ALWAYS_INLINE void copy_row(std::byte* target, std::int64_t target_column, std::byte const* source,
                                     std::int64_t source_column, std::int64_t count) {
  constexpr auto item = static_cast<std::int64_t>(itemsize);
  if (target_column == item && source_column == 0)
    copy_row_by<itemsize, 0>(target, source, count);
  else if (target_column == item && source_column == -item)
    copy_row_by<itemsize, -1>(target, source, count);
  else if (target_column == item && source_column == 2 * item)
    copy_row_by<itemsize, 2>(target, source, count);
  else if (target_column == item && source_column == 4 * item)
    copy_row_by<itemsize, 4>(target, source, count);
  else if (target_column == item)
    for (std::int64_t j = 0; j < count; ++j) copy_item<itemsize>(target + j * item, source + j * source_column);
  else
    for (std::int64_t j = 0; j < count; ++j)
      copy_item<itemsize>(target + j * target_column, source + j * source_column);
}

constexpr std::int64_t part_bytes = 2048;
constexpr std::int64_t rows_ahead = 4;

/// Copies in parts, and prefetches two parts ahead or, if rows are short, a later row.
template <std::size_t itemsize>
MEMARRAY_ALWAYS_INLINE void copy_rows_inline(CopyBlock const& block) {
  std::int64_t const step = std::abs(block.source_column);
  std::int64_t const part = std::max<std::int64_t>(16, part_bytes / std::max<std::int64_t>(1, step));
  bool const has_short_rows = block.columns < part;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    std::byte* const target = block.target + i * block.target_row;
    std::byte const* const source = block.source + i * block.source_row;
    for (std::int64_t left = 0; left < block.columns; left += part) {
      std::int64_t const count = std::min(part, block.columns - left);
      std::byte const* const from = source + left * block.source_column;
      if (step != 0)
        prefetch(from + (has_short_rows ? rows_ahead * block.source_row : 2 * part * block.source_column),
                 count * block.source_column);
      copy_row<itemsize>(target + left * block.target_column, block.target_column, from, block.source_column, count);
    }
  }
}

template <std::size_t itemsize>
void copy_rows_portable(CopyBlock const& block) {
  copy_rows_inline<itemsize>(block);
}
#if defined(MEMARRAY_SIMD_TARGETS)
template <std::size_t itemsize>
MEMARRAY_AVX2 void copy_rows_avx2(CopyBlock const& block) {
  copy_rows_inline<itemsize>(block);
}
template <std::size_t itemsize>
MEMARRAY_AVX512 void copy_rows_avx512(CopyBlock const& block) {
  copy_rows_inline<itemsize>(block);
}
#endif

/// Copies elements of sizes that vectors can gather.
template <std::size_t itemsize>
void copy_rows(CopyBlock const& block) {
#if defined(MEMARRAY_SIMD_TARGETS)
  switch (widest_simd_level()) {
    case SimdLevel::avx512: return copy_rows_avx512<itemsize>(block);
    case SimdLevel::avx2: return copy_rows_avx2<itemsize>(block);
    case SimdLevel::baseline: break;
  }
#endif
  copy_rows_portable<itemsize>(block);
}

void copy_rows_of_any(CopyBlock const& block, std::size_t itemsize) {
  for (std::int64_t i = 0; i < block.rows; ++i)
    for (std::int64_t j = 0; j < block.columns; ++j)
      std::memcpy(block.target + i * block.target_row + j * block.target_column,
                  block.source + i * block.source_row + j * block.source_column, itemsize);
}

void copy_by_size(CopyBlock const& block, std::size_t itemsize) {
  switch (itemsize) {
    case 1: return copy_rows_portable<1>(block);
    case 2: return copy_rows_portable<2>(block);
    case 4: return copy_rows<4>(block);
    case 8: return copy_rows<8>(block);
    case 16: return copy_rows_portable<16>(block);
    // Short rows, copied as one item.
    case 3: return copy_rows_portable<3>(block);
    case 6: return copy_rows_portable<6>(block);
    case 12: return copy_rows_portable<12>(block);
    case 24: return copy_rows_portable<24>(block);
    case 32: return copy_rows_portable<32>(block);
    default: return copy_rows_of_any(block, itemsize);
  }
}

CopyBlock transposed(CopyBlock const& block) {
  return {block.target,        block.target_column, block.target_row, block.source,
          block.source_column, block.source_row,    block.columns,    block.rows};
}

/// Copies squares: each line is used up while in the first-level cache.
void copy_tiles(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
  auto const item = static_cast<std::int64_t>(itemsize);
  bool const has_squares = itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
  if (has_squares && block.target_column == item && std::abs(block.source_row) == item) {
    CopyBlock forwards = block;
    if (block.source_row < 0) {
      forwards.source += (block.rows - 1) * block.source_row;
      forwards.target += (block.rows - 1) * block.target_row;
      forwards.source_row = -block.source_row;
      forwards.target_row = -block.target_row;
    }
    return transpose_block(forwards, itemsize, nontemporal);
  }
  std::int64_t const side = std::max<std::int64_t>(4, 64 / item);
  for (std::int64_t left = 0; left < block.columns; left += side)
    for (std::int64_t top = 0; top < block.rows; top += side)
      copy_by_size(part(block, top, left, side, side), itemsize);
}

bool is_across(CopyBlock const& block) {
  return block.source_row != 0 && std::abs(block.source_row) < std::abs(block.source_column) && block.rows > 3 &&
         block.columns > 3;
}

MEMARRAY_ALWAYS_INLINE void ask_for_next_rows(CopyBlock const& block, std::int64_t row, std::int64_t bytes) {
  if (bytes <= part_bytes) prefetch(block.source + (row + rows_ahead) * block.source_row, bytes);
}

void copy_cached(CopyBlock const& block, std::size_t itemsize) {
  auto const item = static_cast<std::int64_t>(itemsize);
  constexpr std::int64_t short_bytes = 32;
  constexpr std::int64_t short_row = 8;
  constexpr std::int64_t many_rows = 256;
  if (block.target_column == item && block.source_column == item) {
    std::int64_t const bytes = block.columns * item;
    if (bytes <= short_bytes && block.rows > 1)
      return copy_by_size({block.target, 0, block.target_row, block.source, 0, block.source_row, 1, block.rows},
                          static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < block.rows; ++i) {
      ask_for_next_rows(block, i, bytes);
      std::memcpy(block.target + i * block.target_row, block.source + i * block.source_row,
                  static_cast<std::size_t>(bytes));
    }
  } else if (block.columns < short_row && block.rows > block.columns) {
    for (std::int64_t top = 0; top < block.rows; top += many_rows)
      copy_by_size(transposed(part(block, top, 0, many_rows, block.columns)), itemsize);
  } else {
    copy_by_size(block, itemsize);
  }
}

/// Copies to one run of memory with non-temporal stores. Short or strided rows go through a buffer.
void copy_run_nontemporal(CopyBlock const& block, std::size_t itemsize) {
  constexpr std::int64_t piece_bytes = 4096;
  constexpr std::int64_t long_row = 256;
  auto const item = static_cast<std::int64_t>(itemsize);
  if (block.source_column == item && block.columns * item >= long_row) {
    NonTemporalWriter run(block.target);
    for (std::int64_t i = 0; i < block.rows; ++i) {
      ask_for_next_rows(block, i, block.columns * item);
      run.put(block.source + i * block.source_row, static_cast<std::size_t>(block.columns * item));
    }
    return;
  }
  std::int64_t const columns = std::max<std::int64_t>(1, std::min(block.columns, piece_bytes / item));
  std::int64_t const rows = columns == block.columns ? std::max<std::int64_t>(1, piece_bytes / (columns * item)) : 1;
  write_run(block, rows, columns, itemsize, [&](CopyBlock const& piece) { copy_cached(piece, itemsize); });
}

}  // namespace

CopyBlock part(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows, std::int64_t columns) {
  CopyBlock result = block;
  result.target += top * block.target_row + left * block.target_column;
  result.source += top * block.source_row + left * block.source_column;
  result.rows = std::min(rows, block.rows - top);
  result.columns = std::min(columns, block.columns - left);
  return result;
}

bool is_run(CopyBlock const& block, std::size_t itemsize) {
  auto const item = static_cast<std::int64_t>(itemsize);
  return block.target_column == item && (block.rows == 1 || block.target_row == block.columns * item);
}

void copy_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal) {
  if (block.rows <= 0 || block.columns <= 0) return;
  if (is_across(block)) return copy_tiles(block, itemsize, nontemporal);
  auto const item = static_cast<std::int64_t>(itemsize);
  constexpr std::int64_t long_row = 512;
  if (!nontemporal || itemsize > 64 || block.target_column != item) return copy_cached(block, itemsize);
  if (is_run(block, itemsize)) return copy_run_nontemporal(block, itemsize);
  if (block.columns * item < long_row) return copy_cached(block, itemsize);
  for (std::int64_t i = 0; i < block.rows; ++i) copy_run_nontemporal(part(block, i, 0, 1, block.columns), itemsize);
}

}  // namespace memarray::detail
