#include <memarray/array/array_view.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>

#include <string>

namespace memarray::detail {

void check_typed(ViewCore const& view, DType const& dtype, int ndim, bool writable, std::int64_t* strides) {
  view.check_host();
  StridedLayout const& layout = view.layout();
  view.check_is(dtype, ndim);
  if (writable) view.check_writable("an ArrayView of elements that are not const");
  auto const itemsize = static_cast<std::int64_t>(dtype.itemsize);
  for (int d = 0; d < ndim; ++d) {
    if (layout.extent(d) > 1 && layout.stride(d) % itemsize != 0)
      throw TypeError("this " + view.describe() + " has strides " + shape_text(layout.strides()) +
                      " bytes, which are no whole elements: copy() it first");
    strides[d] = layout.stride(d) / itemsize;
  }
}

void check_element(ViewCore const& view, DType const& dtype) {
  if (view.dtype() != dtype)
    throw TypeError("this is a " + view.describe() + ", which has no elements of " + std::string(dtype.name_view()));
}

void throw_no_mdspan(ViewCore const& view) {
  throw ValueError("an mdspan has positive strides, and this " + view.describe() + " has strides " +
                   shape_text(view.layout().strides()) + ": flip it, or copy() it first");
}

}  // namespace memarray::detail
