#include "strided_copy.hpp"

#include "cast_block.hpp"
#include "cast_floats.hpp"
#include "cast_rows.hpp"
#include "cast_signed.hpp"
#include "cast_unsigned.hpp"
#include "copy_block.hpp"
#include "dtype_index.hpp"
#include "nest_walk.hpp"
#include "nontemporal.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace memarray::detail {
namespace {

using Loop = LoopNest::Loop;

constexpr std::int64_t region_bytes = std::int64_t{1} << 18;
// Elements: source and both buffers stay in the first-level cache.
constexpr std::int64_t converted_at_once = 512;

struct Inner {
  explicit Inner(LoopNest const& nest) noexcept {
    auto const all = nest.all();
    if (!all.empty()) column = all.back();
    if (all.size() > 1) row = all[all.size() - 2];
  }
  [[nodiscard]] CopyBlock block(Region const& region, StridedTarget const& target, StridedSource const& source,
                                LoopNest const& nest) const noexcept {
    return {target.data + nest.offsets[0] + region.first,
            row.strides[0],
            column.strides[0],
            source.data + nest.offsets[1] + region.second,
            row.strides[1],
            column.strides[1],
            region.rows,
            region.columns};
  }
  Loop row{1, {0, 0}, false};
  Loop column{1, {0, 0}, false};
};

/// True if the target exceeds the caches. Transpositions gain more, so their limit is lower.
bool suits_nontemporal(LoopNest const& nest, std::size_t itemsize) noexcept {
  std::size_t const bytes = static_cast<std::size_t>(nest.size()) * itemsize;
  return bytes >= std::size_t{nest.kernel == LoopKernel::tiles ? 4U : 16U} << 20;
}

void copy_same(StridedTarget const& target, StridedSource const& source) {
  std::size_t const itemsize = source.dtype.itemsize;
  auto const item = static_cast<std::int64_t>(itemsize);
  LoopNest const nest = plan_copy(target.layout, itemsize, source.layout, itemsize);
  Inner const inner(nest);
  bool const nontemporal = suits_nontemporal(nest, itemsize);
  std::int64_t const most = std::max<std::int64_t>(1, region_bytes / item);
  std::int64_t columns = std::min(most, std::max<std::int64_t>(1, inner.column.extent));
  std::int64_t rows = std::max<std::int64_t>(1, most / columns);
  if (nest.kernel == LoopKernel::tiles) {
    columns = 256;
    rows = 1024;
  }
  visit_regions(nest, rows, columns, itemsize, [&](Region const& region) {
    copy_block(inner.block(region, target, source, nest), itemsize, nontemporal);
    if (nontemporal) end_nontemporal_stores();
  });
}

void copy_converted(StridedTarget const& target, StridedSource const& source, CastRow cast) {
  std::size_t const to_size = target.dtype.itemsize;
  std::size_t const from_size = source.dtype.itemsize;
  LoopNest const nest = plan_copy(target.layout, to_size, source.layout, from_size);
  Inner const inner(nest);
  bool const nontemporal = suits_nontemporal(nest, to_size);
  bool const tiles = nest.kernel == LoopKernel::tiles;
  std::size_t const itemsize = std::max(to_size, from_size);
  std::int64_t const all_columns = std::max<std::int64_t>(1, inner.column.extent);
  std::int64_t const most = tiles ? cast_capacity : converted_at_once;
  std::int64_t const columns = std::min(tiles ? 128 : most, all_columns);
  std::int64_t const rows = most / columns;
  // Tiles go down a band of columns, where reading continues.
  auto const most_of_region = region_bytes / static_cast<std::int64_t>(itemsize);
  std::int64_t const columns_of_region = tiles ? columns : std::min(all_columns, most_of_region);
  std::int64_t const rows_of_region = tiles ? std::max<std::int64_t>(rows, 512) : most_of_region / columns_of_region;
  visit_regions(nest, rows_of_region, columns_of_region, itemsize, [&](Region const& region) {
    CopyBlock const all = inner.block(region, target, source, nest);
    if (nontemporal && !tiles && is_run(all, to_size)) {
      write_run(all, rows, columns, to_size,
                [&](CopyBlock const& piece) { cast_block(cast, piece, to_size, from_size, false); });
      return end_nontemporal_stores();
    }
    for (std::int64_t top = 0; top < all.rows; top += rows)
      for (std::int64_t left = 0; left < all.columns; left += columns)
        cast_block(cast, part(all, top, left, rows, columns), to_size, from_size, nontemporal);
    if (nontemporal) end_nontemporal_stores();
  });
}

int kind_of(DType const& dtype) noexcept {
  switch (dtype.dl.code) {
    case kDLBool: return 0;
    case kDLUInt: return 1;
    case kDLInt: return 2;
    case kDLComplex: return 4;
    default: return 3;
  }
}

}  // namespace

bool can_cast(DType const& from, DType const& to) noexcept {
  if (shipped_index(from) < 0 || shipped_index(to) < 0) return from == to;
  return kind_of(from) <= kind_of(to);
}

CastRow cast_row(int from, int to) {
  switch (cast_group_of(shipped_dtypes()[static_cast<std::size_t>(from)].dl.code)) {
    case CastGroup::signed_integers: return cast_row_from_signed(from, to);
    case CastGroup::unsigned_integers: return cast_row_from_unsigned(from, to);
    default: return cast_row_from_floats(from, to);
  }
}

void check_copy(DType const& to, DType const& from) {
  if ((shipped_index(from) < 0 || shipped_index(to) < 0) && !(from == to))
    throw TypeError(std::string("elements of ") + from.name + " cannot become " + to.name);
}

void copy(StridedTarget target, StridedSource source) {
  check_copy(target.dtype, source.dtype);
  int const from = shipped_index(source.dtype);
  int const to = shipped_index(target.dtype);
  if (from != to) return copy_converted(target, source, cast_row(from, to));
  copy_same(target, source);
}

}  // namespace memarray::detail
