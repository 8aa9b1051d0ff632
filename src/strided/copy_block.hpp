#pragma once

#include "stream_stores.hpp"

#include <memarray/detail/strided/loop_nest.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// A rectangle to copy, and the bytes from one row and one column to the next on each side.
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

/// Memory that is read soon, forwards or backwards: asked for all at once it comes sooner than by reading it.
/// Inline: g++ leaves calls out of what does nothing but prefetch.
MEMARRAY_ALWAYS_INLINE void prefetch(std::byte const* first, std::int64_t bytes) {
  for (std::int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(first + at);
  for (std::int64_t at = 0; at > bytes; at -= 64) __builtin_prefetch(first + at);
}

/// At most that many rows and columns of a block, from a place in it on.
[[nodiscard]] CopyBlock part(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows,
                             std::int64_t columns);

/// Whether the target's elements follow one another.
[[nodiscard]] bool is_run(CopyBlock const& block, std::size_t itemsize);

/// Copies elements of `itemsize` bytes, of any alignment. `past_caches`: the target will not be read soon; whoever asks
/// for it calls `end_stream_stores` afterwards.
void copy_block(CopyBlock const& block, std::size_t itemsize, bool past_caches = false);

/// To a target that is one run of memory, past the caches: `write(piece)` for pieces of at most that many rows and
/// columns, in the order of the run, each with a target of its own. A piece has `StreamedRun::room_bytes` at most, and
/// all columns where it has several rows.
template <class Write>
void write_run(CopyBlock const& block, std::int64_t rows, std::int64_t columns, std::size_t itemsize,
               Write const& write) {
  StreamedRun run(block.target);
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
