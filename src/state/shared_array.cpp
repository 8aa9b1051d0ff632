#include "segment.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/shared_array.hpp>

#include <memory>
#include <utility>

// The part of `ArrayState` for arrays in shared memory.
namespace memarray::detail {
namespace {

ArrayStatePtr attach(std::span<std::byte> bytes, SegmentLayout const& layout, KeeperGuard& keeper, std::string name,
                     DType const& dtype) {
  Segment::Attached attached = Segment::attach(bytes, layout, keeper.release(), std::move(name));
  return ArrayState::make_shared(dtype, layout.shape, std::move(attached.block), *attached.segment);
}

}  // namespace

ArrayStatePtr create_shared(std::span<std::byte> bytes, Block::Keeper keeper, std::string name, bool is_zero,
                            DType const& dtype, Extents shape) {
  KeeperGuard guard(keeper);
  SegmentLayout const layout = write_segment(bytes, dtype, shape, is_zero);
  return attach(bytes, layout, guard, std::move(name), dtype);
}

ArrayStatePtr attach_shared(std::span<std::byte> bytes, Block::Keeper keeper, std::string name, DType const& dtype,
                            int ndim) {
  KeeperGuard guard(keeper);
  SegmentLayout const layout = read_segment(bytes);
  if (!layout.is_of(dtype) || static_cast<int>(layout.shape.size()) != ndim)
    throw TypeError("this shared memory holds an array of " + layout.dtype_name + " (" +
                    std::to_string(layout.itemsize) + " bytes an element) of shape " + shape_text(layout.shape) +
                    ", not of " + std::string(dtype.name_view()) + " (" + std::to_string(dtype.itemsize) +
                    " bytes) with " + std::to_string(ndim) + " dimensions");
  return attach(bytes, layout, guard, std::move(name), dtype);
}

std::vector<Death> recover(ArrayState& state) {
  return state.segment() ? state.segment()->recover() : std::vector<Death>();
}

ArrayStatePtr ArrayState::make_shared(DType const& dtype, Extents shape, BlockPtr host, Segment& segment) {
  EscapedViews const usual = options().escaped_views.load(std::memory_order_relaxed);
  ArrayStatePtr state = make_around(Side::host, std::move(host), dtype, shape, 0,
                                    usual == EscapedViews::snapshot ? EscapedViews::error : usual);
  state->_segment = &segment;
  state->_word.set_elsewhere();
  return state;
}

void ArrayState::set_escaped_views(EscapedViews policy) {
  if (_segment && policy == EscapedViews::snapshot)
    throw ValueError(
        "the escaped_views policy of an array in shared memory is 'error' or 'alias': it cannot go on in "
        "fresh memory, which other processes would not see");
  _policy.store(policy, std::memory_order_relaxed);
}

void ArrayState::check_not_shared(char const* what) const {
  if (_segment)
    throw Error(std::string(what) + " is refused on " + describe() +
                ", which is in shared memory: other processes have it there, with that shape; copy() it, and use the "
                "copy");
}

Block::Exports ArrayState::shared_exports() const noexcept { return _segment->exports(); }

bool ArrayState::take_among_processes(Access access, std::int64_t id, Timeout timeout, Place const& place,
                                      bool past_writers, std::function<void()> const& prepare) {
  if (place.device && !place.device->is_cpu()) check_not_shared("a lease on a device");
  bool const reads = access == Access::read;
  Deadline const deadline(timeout);
  // The lock among threads comes first, under a placeholder id until the shared lock is held.
  if (reads ? !_word.lock_shared(deadline.rest(), past_writers)
            : !_word.lock_exclusive(LockWord::operation, deadline.rest()))
    return false;
  bool had = false;
  bool whole = false;
  try {
    had = reads ? _segment->lock_shared(deadline.rest(), past_writers) : _segment->lock_exclusive(id, deadline.rest());
    if (had) {
      if (escaped_views() == EscapedViews::error) {
        Block::Exports const live = _segment->exports();
        if (reads ? live.writable != 0 : live.total() != 0) check_policy(live, reads ? "reading" : "writing");
      }
      if (!reads) _word.rename(id);
      if (prepare) prepare();
      whole = true;
    }
  } catch (...) {
    if (had) _segment->unlock(!reads);
    reads ? _word.unlock_shared() : _word.unlock_exclusive();
    throw;
  }
  if (!whole) reads ? _word.unlock_shared() : _word.unlock_exclusive();
  return whole;
}

void ArrayState::give_back_among_processes(Access access) noexcept { _segment->unlock(access != Access::read); }

}  // namespace memarray::detail
