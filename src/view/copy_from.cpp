#include "foreign_bools.hpp"
#include "strided/strided_copy.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/view/copy_from.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

std::pair<std::byte const*, std::byte const*> range_of(ViewCore const& view) {
  std::byte const* first = view.data();
  std::byte const* last = first + view.dtype().itemsize;
  StridedLayout const& layout = view.layout();
  for (int d = 0; d < layout.ndim(); ++d) {
    auto const at = static_cast<std::size_t>(d);
    std::int64_t const reach = (layout.shape()[at] - 1) * layout.strides()[at];
    (reach < 0 ? first : last) += reach;
  }
  return {first, last};
}

bool overlaps(ViewCore const& view, Block const& block) {
  if (view.layout().size() == 0) return false;
  auto const [first, last] = range_of(view);
  std::less<std::byte const*> const before;
  return before(first, block.data() + block.bytes()) && before(block.data(), last);
}

}  // namespace

void copy_from(ArrayState& state, ViewCore const& given, std::int64_t lock_id) {
  // Another thread may close the view meanwhile.
  ViewCore source = given;
  source.check_open();
  if (!can_cast(source.dtype(), state.dtype()))
    throw TypeError("copy_from converts within a kind of number ('same_kind'): expected elements that become " +
                    std::string(state.dtype().name_view()) + ", got a " + source.describe() + "; cast() it first");
  Acquisition hold(state, AccessMode::overwrite, lock_id, "copy_from", Acquisition::Option::orders_itself);
  bool const on_device = state.residency().on_device();
  std::vector<std::int64_t> shape(static_cast<std::size_t>(state.ndim()));
  state.copy_shape(shape.data());
  if (!std::ranges::equal(shape, source.layout().shape()))
    throw ValueError("copy_from expected a source of shape " + shape_text(shape) + ", got a " + source.describe() +
                     "; resize() the array first, or reshape() or broadcast_to() the source");
  // Convert on the host: builds without nvcc have no device kernels.
  if (on_device && !source.on_device() && source.dtype() != state.dtype()) source = source.cast(state.dtype());
  source = source.to_device(state.residency().device());
  if (has_invalid_bools(source)) source = source.copy();
  Block& target = hold.target_block();
  if (overlaps(source, target)) source = source.copy();
  StridedJob const job{
      .kind = StridedJob::Kind::copy,
      .target = {target.data(), state.dtype(), StridedLayout::dense(shape, state.dtype().itemsize)},
      .source = {source.data(), source.dtype(), source.layout()},
  };
  job.check();
  if (on_device) {
    submit(job, hold.bound_stream(), target, &source.block());
    return hold.commit(Acquisition::Work::recorded);
  }
  job.run_on_host();
  hold.commit();
}

}  // namespace memarray::detail
