#include "foreign_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/driver/driver_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace memarray::detail {

namespace {

/// The same elements as another dtype of their size.
ViewCore seen_as(ViewCore const& view, DType const& dtype, StridedLayout const& layout, std::size_t offset = 0) {
  return {view.memory(), view.data() + offset, dtype, layout, view.on_device() ? view.stream_ptr() : nullptr};
}

bool has_kernels(ViewCore const& view) {
  return MEMARRAY_HAS_CUDA != 0 || view.block().uses()->memory().driver().is_simulated();
}

}  // namespace

bool has_invalid_bools(ViewCore const& view, DType const& dtype) {
  if (!has_bools(dtype) || !view.block().is_foreign()) return false;
  ViewCore const kept = view;  // NOLINT(performance-unnecessary-copy-initialization): another thread may close the view
  if (!kept.on_device()) return has_invalid_bools(dtype, kept.data(), kept.layout());
  if (kept.layout().size() == 0 || !has_kernels(kept)) return false;
  return std::ranges::any_of(bool_offsets(dtype), [&](std::size_t offset) {
    auto largest = std::byte{0};
    static_cast<void>(
        seen_as(kept, dtype_of<std::uint8_t>(), kept.layout(), offset).reduce_all(Reduction::max, &largest));
    return largest > std::byte{1};
  });
}

ViewCore with_valid_bools(ViewCore const& view, DType const& dtype) {
  ViewCore const source = view;  // NOLINT(performance-unnecessary-copy-initialization): as above
  StridedLayout from = source.layout();
  bool const is_fortran = !from.is_contiguous(dtype.itemsize) && from.is_fortran_contiguous(dtype.itemsize);
  if (is_fortran) from.transpose();
  ViewCore const copied = seen_as(source, dtype, from).copy(nullptr);
  report_copy(static_cast<std::int64_t>(copied.bytes()),
              source.describe() + " has bools that are neither 0 nor 1, and C++ code reads a copy");
  StridedLayout layout = copied.layout();
  if (is_fortran) layout.transpose();
  return seen_as(copied, source.dtype(), layout);
}

ViewCore checked_bools(ViewCore view, DType const& dtype, bool writable) {
  view.check_open();
  if (!has_invalid_bools(view, dtype)) return view;
  if (writable)
    throw BufferError("this " + view.describe() +
                      " has bools that are neither 0 nor 1, which C++ code must not read: write them as 0 and 1 first, "
                      "as in numpy.not_equal(x.view('uint8'), 0, out=x)" +
                      (dtype.fields ? ", for each field of bools" : ""));
  return with_valid_bools(view, dtype);
}

}  // namespace memarray::detail
