#pragma once

#include "nontemporal.hpp"

#include <memarray/detail/strided/loop_nest.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A rectangle to copy, with the bytes from one row and one column to the next on each side.
struct CopyBlock {
  std::byte* target;
  std::int64_t target_row;
  std::int64_t target_column;
  std::byte const* source;
  std::int64_t source_row;
  std::int64_t source_column;
  std::int64_t rows;
  std::int64_t columns;
};

/// Prefetches memory that is read soon, forwards or backwards. Requesting all of it at once is faster than reading it.
/// Inline, because g++ drops calls of a function that only prefetches.
MEMARRAY_ALWAYS_INLINE void prefetch(std::byte const* first, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(first + at);
  for (std::int64_t at = 0; at > bytes; at -= 64) __builtin_prefetch(first + at);
}

/// Returns at most `rows` rows and `columns` columns of a block, from row `top` and column `left` on.
[[nodiscard]] CopyBlock part(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows,
                             std::int64_t columns);

/// True if the target's elements are adjacent.
[[nodiscard]] bool is_run(CopyBlock const& block, std::size_t itemsize);

/// Copies elements of `itemsize` bytes, of any alignment. `nontemporal`: uses non-temporal stores because the target
/// will not be read soon; the caller calls `end_nontemporal_stores` afterwards.
void copy_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal = false);

/// Writes a target that is one run of memory, with non-temporal stores. Calls `write(piece)` for pieces of at most
/// `rows` rows and `columns` columns, in the order of the run. Each piece has its own target buffer. Precondition: a
/// piece has at most `NonTemporalWriter::room_bytes` bytes, and all columns if it has several rows.
template <class Write>
void write_run(CopyBlock const& block, std::int64_t rows, std::int64_t columns, std::size_t itemsize,
               Write const& write) {
  NonTemporalWriter run(block.target);
  for (std::int64_t top = 0; top < block.rows; top += rows)
    for (std::int64_t left = 0; left < block.columns; left += columns) {
      CopyBlock piece = part(block, top, left, rows, columns);
      piece.target = run.room();
      piece.target_row = piece.columns * static_cast<std::int64_t>(itemsize);
      write(piece);
      run.put(static_cast<std::size_t>(piece.rows * piece.columns) * itemsize);
    }
}

}  // namespace memarray::detail
