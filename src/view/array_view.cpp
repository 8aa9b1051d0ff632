#include "foreign_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/view/array_view.hpp>

#include <string>
#include <utility>

namespace memarray::detail {

void check_typed(ViewCore& view, DType const& dtype, int ndim, bool writable, ViewOptions options) {
  if (includes(options, on_device)) {
    view.check_open();
    if (!view.on_device())
      throw BufferError("this " + view.describe() +
                        " is on the host, not on a device: copy it with to_device('cuda:0')");
  } else {
    view.check_host();
  }
  StridedLayout const& layout = view.layout();
  view.check_is(dtype, ndim);
  if (writable) view.check_writable("an ArrayView of elements that are not const");
  auto const itemsize = static_cast<std::int64_t>(dtype.itemsize);
  // A copy is dense in C order.
  char const* const remedy = includes(options, f_order) && !includes(options, c_order)
                                 ? "copy it by transpose().copy().transpose()"
                                 : "copy() it first";
  auto const refuse = [&](char const* what) {
    throw TypeError("this " + view.describe() + " has strides " + shape_text(layout.strides()) + " bytes, which are " +
                    what + ": " + remedy);
  };
  for (int d = 0; d < ndim; ++d)
    if (layout.extent(d) > 1 && layout.stride(d) % itemsize != 0) refuse("not whole elements");
  if (includes(options, c_order) && !layout.is_contiguous(dtype.itemsize)) refuse("not dense in C order");
  if (includes(options, f_order) && !layout.is_fortran_contiguous(dtype.itemsize))
    refuse("not dense in Fortran's order");
  view = checked_bools(std::move(view), dtype, writable);
}

void check_element(ViewCore const& view, DType const& dtype) {
  if (view.dtype() != dtype)
    throw TypeError("this is a " + view.describe() + ", which has no elements of " + std::string(dtype.name_view()));
}

void throw_no_mdspan(ViewCore const& view) {
  throw ValueError("an mdspan has positive strides, and this " + view.describe() + " has strides " +
                   shape_text(view.layout().strides()) + ": flip it, or copy() it first");
}

void throw_no_columns(ViewCore const& view) {
  throw ValueError("a leading dimension needs columns of adjacent elements, and this " + view.describe() +
                   " has strides " + shape_text(view.layout().strides()) +
                   " bytes: transpose() it if its rows are adjacent, else copy it by transpose().copy().transpose()");
}

ViewCore untyped(ViewParts const& parts, DType const& dtype, StridedLayout::Extents shape,
                 StridedLayout::Extents strides, bool writable) {
  if (!parts.is_open()) throw_closed_view();
  StridedLayout const layout = StridedLayout::strided(shape, strides, dtype.itemsize);
  if (!parts.memory)
    return import_memory({parts.data, Device{}, MemoryType::normal, &dtype, layout, writable},
                         keep_alive_of(parts.held));
  // A read-only view must not count as a writable export.
  bool const narrows = !writable && parts.memory.writable();
  return {narrows ? BlockExport(parts.memory.block(), false) : parts.memory, static_cast<std::byte*>(parts.data), dtype,
          layout, parts.stream};
}

void throw_closed_view() { throw ValueError("the view is closed: make a new one from its source"); }

}  // namespace memarray::detail
