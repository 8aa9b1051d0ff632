#include "valid_bools.hpp"
#include "strided_copy.hpp"

#include <memarray/base/struct_fields.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace memarray::detail {
namespace {

DType const& bytes() noexcept { return dtype_of<std::uint8_t>(); }

bool is_bool(StructField const& field) noexcept { return !field.nested && field.typestr.ends_with("b1"); }

bool has_bools(StructFields const& fields) noexcept {
  for (StructField const& field : fields.list)
    if (field.nested ? has_bools(*field.nested) : is_bool(field)) return true;
  return false;
}

/// Calls `use(offset)` for each bool of an element until a call returns true.
template <class Use>
bool find_bool(StructFields const& fields, std::size_t start, Use const& use) {
  for (StructField const& field : fields.list) {
    std::size_t const size = field.nested ? field.nested->itemsize : 1;
    if (!field.nested && !is_bool(field)) continue;
    std::size_t const end = start + field.offset + field.nbytes();
    for (std::size_t at = start + field.offset; at < end; at += size)
      if (field.nested ? find_bool(*field.nested, at, use) : use(at)) return true;
  }
  return false;
}

template <class Use>
bool find_bool(DType const& dtype, Use const& use) {
  if (dtype.dl.code == kDLBool && dtype.has_dlpack()) return use(std::size_t{0});
  return dtype.fields && find_bool(*dtype.fields, 0, use);
}

bool is_invalid(std::byte const* data, StridedLayout const& layout) {
  auto largest = std::byte{0};
  reduce(Reduction::max, {data, bytes(), layout}, every_axis(layout.ndim()), {&largest, bytes(), StridedLayout()});
  return largest > std::byte{1};
}

}  // namespace

bool has_bools(DType const& dtype) noexcept {
  return (dtype.dl.code == kDLBool && dtype.has_dlpack()) || (dtype.fields && has_bools(*dtype.fields));
}

std::vector<std::size_t> bool_offsets(DType const& dtype) {
  std::vector<std::size_t> offsets;
  find_bool(dtype, [&](std::size_t offset) {
    offsets.push_back(offset);
    return false;
  });
  return offsets;
}

bool has_invalid_bools(DType const& dtype, std::byte const* data, StridedLayout const& layout) {
  if (layout.size() == 0) return false;
  return find_bool(dtype, [&](std::size_t offset) { return is_invalid(data + offset, layout); });
}

void make_element_valid(DType const& dtype, std::byte* element) noexcept {
  find_bool(dtype, [&](std::size_t offset) {
    if (element[offset] > std::byte{1}) element[offset] = std::byte{1};
    return false;
  });
}

void make_bools_valid(DType const& dtype, std::byte* data, std::size_t bytes) {
  if (!has_bools(dtype)) return;
  std::array const shape{static_cast<std::int64_t>(bytes / dtype.itemsize)};
  StridedLayout const layout = StridedLayout::dense(shape, dtype.itemsize);
  if (!has_invalid_bools(dtype, data, layout)) return;
  std::vector<std::byte> const before(data, data + bytes);
  for (std::size_t const offset : bool_offsets(dtype))
    copy({data + offset, dtype_of<bool>(), layout}, {before.data() + offset, dtype_of<std::uint8_t>(), layout});
}

}  // namespace memarray::detail
