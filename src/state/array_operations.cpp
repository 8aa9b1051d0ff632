#include "strided/host_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/state/array_operations.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

using Option = Acquisition::Option;

/// Applies the policy of `array` before `receiver` gets its memory. Detaches from read-only views, too, if policy
/// "alias" would let `receiver` write under them.
void leave_views(ArrayState& array, ArrayState const& receiver) {
  apply_policy_to_read(array, {});
  if (array.write_needs_new_block() && receiver.escaped_views() == EscapedViews::alias)
    array.residency().detach(array,
                             "an escaped view is alive and its memory goes to an array that writes under escaped views",
                             StreamChoice());
}

}  // namespace

void fill(ArrayState& state, void const* element, std::int64_t lock_id) {
  Acquisition hold(state, AccessMode::overwrite, lock_id, "fill", Option::orders_itself);
  std::size_t const itemsize = state.dtype().itemsize;
  auto const count = static_cast<std::size_t>(state.size());
  if (state.residency().on_device()) {
    fill(hold.target_block(), 0, element, itemsize, count, hold.bound_stream());
    return hold.commit(Acquisition::Work::recorded);
  }
  fill_host(hold.target(), element, itemsize, count);
  hold.commit();
}

void resize(ArrayState& state, Extents shape) {
  state.check_not_shared("resize");
  if (static_cast<int>(shape.size()) != state.ndim())
    throw ValueError("resize keeps the rank: " + state.describe() + " cannot become " + shape_text(shape));
  DType const& dtype = state.dtype();
  std::size_t const new_bytes = checked_bytes(checked_size(shape), dtype.itemsize);
  Acquisition const hold(state, AccessMode::overwrite, -1, "resize", Option::lock_only);
  Residency& residency = state.residency();
  std::size_t const kept = std::min(new_bytes, state.bytes());
  std::size_t const added = (new_bytes - kept) / dtype.itemsize;
  Block& block = residency.block();
  BlockPtr fresh;
  if (residency.on_device()) {
    fresh = residency.allocate(state, new_bytes, {});
    block.fence(false);
    copy(*fresh, block, kept, hold.bound_stream(), CopyMode::async);
    std::vector<std::byte> const zeros(dtype.itemsize);
    fill(*fresh, kept, dtype.init ? dtype.init : zeros.data(), dtype.itemsize, added, hold.bound_stream());
  } else {
    fresh = Block::allocate(residency.resource(), new_bytes,
                            dtype.init ? Block::Contents::uninitialized : Block::Contents::zero);
    await(block, Use::read, {});
    copy_host(fresh->data(), block.data(), kept);
    if (dtype.init) fill_host(fresh->data() + kept, dtype.init, dtype.itemsize, added);
  }
  if (block.is_foreign())
    report_copy(static_cast<std::int64_t>(kept), state.describe() + " was resized out of memory of another owner");
  BlockPtr const old = residency.replace(std::move(fresh));
  state.set_shape(shape);
}

void exchange(ArrayState& one, ArrayState& other) {
  one.check_not_shared("exchange");
  other.check_not_shared("exchange");
  if (&one == &other) return;
  if (one.dtype() != other.dtype() || one.ndim() != other.ndim())
    throw TypeError("exchange swaps arrays of one dtype and rank, not " + one.describe() + " and " + other.describe());
  bool const ordered = &one < &other;
  Acquisition const first(ordered ? one : other, AccessMode::overwrite, -1, "exchange", Option::lock_only);
  Acquisition const second(ordered ? other : one, AccessMode::overwrite, -1, "exchange", Option::lock_only);
  leave_views(one, other);
  leave_views(other, one);
  std::vector<std::int64_t> const ours(one.shape(), one.shape() + one.ndim());
  std::vector<std::int64_t> const theirs(other.shape(), other.shape() + other.ndim());
  one.residency().swap(other.residency());
  one.set_shape(theirs);
  other.set_shape(ours);
}

ArrayStatePtr clone(ArrayState& state) {
  Acquisition const hold(state, AccessMode::read, -1, "copy");
  Residency const& residency = state.residency();
  BlockPtr fresh = residency.allocate(state, state.bytes(), {});
  if (residency.on_device())
    copy(*fresh, residency.block(), state.bytes(), hold.bound_stream(), CopyMode::async);
  else
    copy_host(fresh->data(), residency.block().data(), state.bytes());
  return state.make_like(std::move(fresh));
}

void move_to(ArrayState& state, Device target, std::int64_t lock_id, StreamChoice const& stream, bool async) {
  constexpr char const* what = "move_memory";
  state.check_not_shared(what);
  if (!state.lock().is_free()) state.refuse(what, lock_id);
  Acquisition const hold(state, AccessMode::overwrite, -1, what, Option::lock_only);
  state.residency().check_reachable(state, target, what);
  apply_policy_to_read(state, stream);
  state.residency().arrive(state, target, stream, AccessMode::read, async ? CopyMode::async : CopyMode::blocking);
}

void enter(ArrayState& state, std::int64_t lock_id) {
  if (lock_id < 0) throw ValueError("enter takes a lock id of 0 or more, not " + std::to_string(lock_id));
  if (lock_id >= LockWord::first_lease_id)
    throw ValueError("lock ids from 2**62 on are those of leases; enter takes a smaller one");
  Acquisition::enter(state, lock_id);
}

void leave(ArrayState& state) noexcept { state.lock().end_entered(); }

void throw_moved_from() { throw Error("this MemArray was moved from: assign an array to it before it is used"); }

}  // namespace memarray::detail
