#pragma once

#include <memarray/array/loop_nest.hpp>

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
void prefetch(std::byte const* first, std::int64_t bytes);

/// At most that many rows and columns of a block, from a place in it on.
[[nodiscard]] CopyBlock part(CopyBlock const& block, std::int64_t top, std::int64_t left, std::int64_t rows,
                             std::int64_t columns);

/// Whether the target's elements follow one another.
[[nodiscard]] bool is_run(CopyBlock const& block, std::size_t itemsize);

/// Copies elements of `itemsize` bytes, of any alignment. `past_caches`: the target will not be read soon; whoever asks
/// for it calls `end_stream_stores` afterwards.
void copy_block(CopyBlock const& block, std::size_t itemsize, bool past_caches = false);

}  // namespace memarray::detail
