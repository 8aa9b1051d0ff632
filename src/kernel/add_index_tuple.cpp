#include "strided/dtype_index.hpp"
#include "strided/strided_fill.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/strided/strided_job.hpp>
#include <memarray/kernel/add_index_tuple.hpp>
#include <memarray/strided/strided_layout.hpp>

namespace memarray::detail {

void add_index_tuple(ArrayState& state, StreamChoice const& stream) {
  if (!is_shipped(state.dtype())) throw UnsupportedTypeError("add_index_tuple is not compiled for " + state.describe());
  Acquisition hold(state, AccessMode::update, -1, "add_index_tuple", Acquisition::Option::none, stream);
  StridedLayout const layout = StridedLayout::dense(state.extents(), state.dtype().itemsize);
  std::byte* const source = state.residency().block().data();
  std::byte* const target = hold.target_block().data();
  if (!state.residency().on_device()) {
    add_index({target, state.dtype(), layout}, source);
    return hold.commit();
  }
  StridedJob const job{.kind = StridedJob::Kind::add_index,
                       .target = {target, state.dtype(), layout},
                       .source = {source, state.dtype(), layout}};
  try {
    job.submit(hold.memory(), hold.bound_stream());
  } catch (...) {
    hold.left_running();
    throw;
  }
  hold.commit();
}

bool is_shipped(DType const& dtype) noexcept { return shipped_index(dtype) >= 0; }

}  // namespace memarray::detail
