#include "add_index_rows.hpp"
#include "dtype_index.hpp"
#include "nest_walk.hpp"

#include "host_memory.hpp"
#include "strided_fill.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace memarray::detail {
namespace {

constexpr std::int64_t region_elements = std::int64_t{1} << 14;

// Well above the caches' size.
constexpr std::size_t nontemporal_bytes = std::size_t{32} << 20;

/// Adds `sum`, `sum + step`, …. Any number but 0 makes a bool true, as in NumPy.
template <class T>
void add_row(std::byte* target, std::int64_t stride, std::int64_t count, std::int64_t sum, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i, sum += step) {
    auto& element = *reinterpret_cast<Stored<T>*>(target + i * stride);
    if constexpr (std::is_same_v<T, bool>)
      element.byte = static_cast<std::uint8_t>(element.byte != 0 || sum != 0);
    else
      element = add_wrapping(element, static_cast<T>(sum));
  }
}

template <class T>
void add_index_to(StridedTarget const& target) {
  LoopNest const nest = plan_add_index(target.layout, sizeof(T));
  auto const all = nest.all();
  LoopNest::Loop const once{1, {0, 0}, false};
  LoopNest::Loop const column = all.empty() ? once : all.back();
  LoopNest::Loop const row = all.size() < 2 ? once : all[all.size() - 2];
  visit_regions(nest, std::max<std::int64_t>(1, region_elements / std::max<std::int64_t>(1, column.extent)),
                region_elements, sizeof(T), [&](Region const& region) {
                  for (std::int64_t i = 0; i < region.rows; ++i)
                    add_row<T>(target.data + nest.offsets[0] + region.first + i * row.strides[0], column.strides[0],
                               region.columns, nest.offsets[1] + region.second + i * row.strides[1], column.strides[1]);
                });
}

int index_of_number(DType const& dtype) {
  int const index = shipped_index(dtype);
  if (index < 0) throw TypeError(std::string("index sums are added to numbers, not to ") + dtype.name);
  return index;
}

template <class T>
void add_index_of(StridedTarget const& target, std::byte const* source) {
  if (target.layout.size() == 0) return;
  if (target.layout.ndim() == 0 || !target.layout.is_contiguous(sizeof(T))) return add_index_to<T>(target);
  RowsPlan plan = plan_rows(target.layout.shape());
  auto const* const from = reinterpret_cast<T const*>(source);
  auto* const to = reinterpret_cast<T*>(target.data);
  std::size_t const bytes = static_cast<std::size_t>(plan.units * plan.block) * sizeof(T);
  plan.nontemporal = from != to && bytes >= nontemporal_bytes;
  auto const run = [&](auto const rows) {
    std::int64_t const per_piece = std::max<std::int64_t>(1, region_elements * 4 / plan.block);
    run_in_pieces(plan.units, per_piece, bytes,
                  [&](std::int64_t begin, std::int64_t end) { rows(plan, from, to, begin, end); });
  };
  plan.fits_32_bits ? run(rows_function<T, std::int32_t>()) : run(rows_function<T, std::int64_t>());
}

}  // namespace

void fill(StridedTarget target, void const* element) {
  std::size_t const itemsize = target.dtype.itemsize;
  LoopNest const nest = plan_fill(target.layout, itemsize);
  auto const all = nest.all();
  std::byte* const first = target.data + nest.offsets[0];
  if (nest.size() == 0) return;
  if (nest.kernel == LoopKernel::contiguous && nest.count <= 1)
    return fill_host(first, element, itemsize, static_cast<std::size_t>(nest.size()));
  // `element` may be overwritten; `fill_host` copies it itself.
  auto const* const given = static_cast<std::byte const*>(element);
  std::vector<std::byte> const kept(given, given + itemsize);
  LoopNest::Loop const column = all.back();
  LoopNest::Loop const row = all.size() < 2 ? LoopNest::Loop{1, {0, 0}, false} : all[all.size() - 2];
  visit_regions(nest, std::max<std::int64_t>(1, region_elements / column.extent), region_elements, itemsize,
                [&](Region const& region) {
                  for (std::int64_t i = 0; i < region.rows; ++i)
                    fill_row(first + region.first + i * row.strides[0], column.strides[0], region.columns, kept.data(),
                             itemsize);
                });
}

void add_index(StridedTarget target, std::byte const* source) {
  using Add = void (*)(StridedTarget const&, std::byte const*);
#define MEMARRAY_ENTRY(type, name, code, bits) add_index_of<type>,
  static constexpr Add table[] = {MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ENTRY)};
#undef MEMARRAY_ENTRY
  table[index_of_number(target.dtype)](target, source);
}

void check_add_index(DType const& dtype) { static_cast<void>(index_of_number(dtype)); }

}  // namespace memarray::detail
