#include "foreign_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/struct_fields.hpp>
#include <memarray/detail/strided/strided_copy.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

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

void write(DType const& dtype, ViewCore const& target, std::byte const* from, StridedLayout const& layout) {
  DType const& valid = dtype_of<bool>();
  find_bool(dtype, [&](std::size_t offset) {
    copy({target.data() + offset, valid, target.layout()}, {from + offset, bytes(), layout});
    return false;
  });
}

}  // namespace

bool has_bools(DType const& dtype) noexcept {
  return (dtype.dl.code == kDLBool && dtype.has_dlpack()) || (dtype.fields && has_bools(*dtype.fields));
}

bool has_invalid_bools(DType const& dtype, std::byte const* data, StridedLayout const& layout) {
  if (layout.size() == 0) return false;
  return find_bool(dtype, [&](std::size_t offset) { return is_invalid(data + offset, layout); });
}

bool has_invalid_bools(ViewCore const& view) {
  if (!has_bools(view.dtype()) || view.on_device() || !view.block().is_foreign()) return false;
  ViewCore const kept = view;  // NOLINT(performance-unnecessary-copy-initialization): another thread may close the view
  return has_invalid_bools(kept.dtype(), kept.data(), kept.layout());
}

void write_valid_bools(ViewCore const& target, ViewCore const& source) {
  write(source.dtype(), target, source.data(), source.layout());
}

ViewCore with_valid_bools(ViewCore const& view, DType const& dtype) {
  ViewCore const source = view;  // NOLINT(performance-unnecessary-copy-initialization): as above
  std::size_t const itemsize = dtype.itemsize;
  StridedLayout from = source.layout();
  bool const is_fortran = !from.is_contiguous(itemsize) && from.is_fortran_contiguous(itemsize);
  if (is_fortran) from.transpose();
  ViewCore result = ViewCore::make(source.dtype(), from.shape());
  if (dtype.is_struct()) copy({result.data(), source.dtype(), result.layout()}, {source.data(), source.dtype(), from});
  write(dtype, result, source.data(), from);
  report_copy(static_cast<std::int64_t>(result.bytes()),
              source.describe() + " has bools that are neither 0 nor 1, and C++ code reads a copy");
  if (!is_fortran) return result;
  StridedLayout layout = result.layout();
  layout.transpose();
  return result.at(layout, 0);
}

ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable) {
  view.check_open();
  if (!has_bools(dtype) || view.on_device() || !view.block().is_foreign() ||
      !has_invalid_bools(dtype, view.data(), view.layout()))
    return view;
  if (writable)
    throw BufferError("this " + view.describe() +
                      " has bools that are neither 0 nor 1, which C++ code must not read: write them as 0 and 1 first, "
                      "as in numpy.not_equal(x.view('uint8'), 0, out=x)" +
                      (dtype.fields ? ", for each field of bools" : ""));
  return with_valid_bools(view, dtype);
}

}  // namespace memarray::detail
