#include "foreign_bools.hpp"
#include "strided/strided_copy.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace memarray::detail {

bool has_invalid_bools(ViewCore const& view) {
  if (!has_bools(view.dtype()) || view.on_device() || !view.block().is_foreign()) return false;
  ViewCore const kept = view;  // NOLINT(performance-unnecessary-copy-initialization): another thread may close the view
  return has_invalid_bools(kept.dtype(), kept.data(), kept.layout());
}

ViewCore with_valid_bools(ViewCore const& view, DType const& dtype) {
  ViewCore const source = view;  // NOLINT(performance-unnecessary-copy-initialization): as above
  std::size_t const itemsize = dtype.itemsize;
  StridedLayout from = source.layout();
  bool const is_fortran = !from.is_contiguous(itemsize) && from.is_fortran_contiguous(itemsize);
  if (is_fortran) from.transpose();
  ViewCore result = ViewCore::make(source.dtype(), from.shape());
  if (dtype.is_struct()) copy({result.data(), source.dtype(), result.layout()}, {source.data(), source.dtype(), from});
  write_valid_bools(dtype, result.data(), result.layout(), source.data(), from);
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
