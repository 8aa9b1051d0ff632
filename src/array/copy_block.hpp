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

/// Copies elements of `itemsize` bytes, of any alignment. `past_caches`: the target will not be read soon; whoever asks
/// for it calls `end_stream_stores` afterwards.
void copy_block(CopyBlock const& block, std::size_t itemsize, bool past_caches = false);

}  // namespace memarray::detail
