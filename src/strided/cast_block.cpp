#include "cast_block.hpp"

namespace memarray::detail {
namespace {

constexpr std::int64_t largest_item = 16;
constexpr std::int64_t bytes_ahead = 4096;
// Shorter rows are gathered in a buffer first.
constexpr std::int64_t short_row = 32;

CopyBlock gathered(CopyBlock block, std::byte* buffer, std::int64_t itemsize) {
  block.target = buffer;
  block.target_column = itemsize;
  block.target_row = block.columns * itemsize;
  return block;
}

CopyBlock scattered(CopyBlock block, std::byte const* buffer, std::int64_t itemsize) {
  block.source = buffer;
  block.source_column = itemsize;
  block.source_row = block.columns * itemsize;
  return block;
}

}  // namespace

void cast_block(CastRow cast, CopyBlock const& block, std::size_t to_size, std::size_t from_size, bool nontemporal) {
  auto const to = static_cast<std::int64_t>(to_size);
  auto const from = static_cast<std::int64_t>(from_size);
  bool const one_row = block.rows == 1;
  bool const from_rows = block.source_column == from || block.columns == 1;
  bool const to_rows = block.target_column == to || block.columns == 1;
  if (!nontemporal && from_rows && to_rows && (one_row || block.columns >= short_row)) {
    for (std::int64_t i = 0; i < block.rows; ++i)
      cast(block.source + i * block.source_row, block.target + i * block.target_row, block.columns);
    return;
  }
  alignas(64) std::byte in[cast_capacity * largest_item];
  alignas(64) std::byte out[cast_capacity * largest_item];
  bool const from_dense = from_rows && (one_row || block.source_row == block.columns * from);
  bool const to_dense = !nontemporal && to_rows && (one_row || block.target_row == block.columns * to);
  if (from_dense)
    prefetch(block.source + bytes_ahead, block.rows * block.columns * from);
  else
    copy_block(gathered(block, in, from), from_size);
  cast(from_dense ? block.source : in, to_dense ? block.target : out, block.rows * block.columns);
  if (!to_dense) copy_block(scattered(block, out, to), to_size, nontemporal);
}

}  // namespace memarray::detail
