#pragma once

#include "nontemporal.hpp"

#include <memarray/detail/strided/loop_nest.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A rectangle to copy, with row and column strides in bytes.
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

/// Prefetches backwards if `bytes` is negative. Inline, as g++ drops calls of a function that only prefetches.
MEMARRAY_ALWAYS_INLINE void prefetch(std::byte const* first, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(first + at);
  for (std::int64_t at = 0; at > bytes; at -= 64) __builtin_prefetch(first + at);
}

/// Returns at most `rows` × `columns` elements from (`top`, `left`) on.
[[nodiscard]] CopyBlock part(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows,
                             std::int64_t columns);

/// True if the target's elements are adjacent.
[[nodiscard]] bool is_run(CopyBlock const& block, std::size_t itemsize);

/// Copies elements of any alignment. `nontemporal`: for targets not read soon; then call `end_nontemporal_stores`.
void copy_block(CopyBlock const& block, std::size_t itemsize, bool nontemporal = false);

/// Calls `write(piece)` in order for pieces of at most `rows` × `columns`, each with a buffer as target. Stores buffers
/// to one run of memory non-temporally. Precondition: a piece has at most `NonTemporalWriter::room_bytes`, and all
/// columns if it has several rows.
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
