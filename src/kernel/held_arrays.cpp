#include "memory/deferred.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace memarray::detail {
namespace {

[[noreturn]] MEMARRAY_COLD void throw_given_twice(KernelHold const& hold) {
  throw LockError("a kernel was given " + hold.describe() +
                  " twice, and not only to read it: one access cannot be held while the other is");
}

[[noreturn]] MEMARRAY_COLD void throw_two_devices(KernelHold const& first, KernelHold const& other) {
  throw Error("a kernel runs where all its arrays are: " + first.describe() + " is on " + to_string(first.device()) +
              ", " + other.describe() + " on " + to_string(other.device()) + "; call move_memory on one of them first");
}

[[noreturn]] MEMARRAY_COLD void throw_negative(LoopSharing const& sharing) {
  throw ValueError("launch{.threads = " + std::to_string(sharing.threads) +
                   ", .grain = " + std::to_string(sharing.grain) + "}: both are positive, or 0 to leave the choice");
}

Use use_of(KernelHold const& hold) noexcept { return hold.mode() == AccessMode::read ? Use::read : Use::write; }

}  // namespace

HeldArrays::HeldArrays(std::span<KernelHold> holds, StreamOrLaunch const& on, Extent extent)
    : _holds(holds), _sharing(on.sharing) {
  StreamHandle const& stream = on.stream;
  if (!stream) throw_null_stream();
  if (_sharing.threads < 0 || _sharing.grain < 0) throw_negative(_sharing);
  check_not_twice();
  // Before the stream waits, and again under the holds.
  check_one_device();
  run_deferred();
  try {
    bool is_plain = true;
    for (KernelHold& hold : _holds) {
      // A waiting writer must not refuse this launch's second read.
      bool const again =
          std::any_of(_holds.data(), &hold, [&](auto& other) { return hold._state && other._state == hold._state; });
      acquire(hold, stream, extent, again);
      is_plain = is_plain && hold._is_locked;
      _bytes += hold.dtype().itemsize;
      _must_fit = _must_fit || hold._mode == AccessMode::update || hold._mode == AccessMode::overwrite;
    }
    if (is_plain) return;
    check_one_device();
    find_space(stream);
  } catch (...) {
    release();
    throw;
  }
}

HeldArrays::~HeldArrays() {
  if (_has_begun && !_is_committed) leave_running();
  release();
}

void HeldArrays::check_not_twice() const {
  for (KernelHold const& hold : _holds) {
    if (hold._view) continue;
    for (KernelHold const* other = _holds.data(); other != &hold; ++other)
      if (other->_state == hold._state && (other->_mode != AccessMode::read || hold._mode != AccessMode::read))
        throw_given_twice(hold);
  }
}

void HeldArrays::check_one_device() const {
  KernelHold const& first = _holds.front();
  bool const on_device = first.on_device();
  for (KernelHold const& hold : _holds)
    if (hold.on_device() != on_device || (on_device && hold.device() != first.device())) throw_two_devices(first, hold);
}

void HeldArrays::check_result(KernelHold const& result) const {
  if (result.size() != 1)
    throw ValueError("expected an array of one element for the value of a reduction; got " + result.describe());
  if (result.device() != _holds.front().device()) throw_two_devices(result, _holds.front());
}

void HeldArrays::acquire(KernelHold& hold, StreamHandle const& stream, Extent extent, bool again) {
  bool const reads = hold._mode == AccessMode::read;
  if (hold._view) {
    ViewCore const& view = *hold._view;
    if (!reads) view.check_elements_apart("a kernel");
    await(view.block(), use_of(hold), stream);
    hold._target = view.on_device() ? static_cast<std::byte*>(testing::detail::reachable(view.data())) : view.data();
    hold._source = hold._target;
    return;
  }
  ArrayState& state = *hold._state;
  Residency& residency = state.residency();
  if (hold._lock_id < 0 && !residency.on_device()) [[likely]] {
    LockWord& word = state.lock().word();
    if (reads ? word.try_lock_shared(again, LockWord::RefMode::counted, &hold._expected)
              : word.try_lock_exclusive(LockWord::operation, LockWord::RefMode::counted, &hold._expected)) {
      Block& block = residency.block();
      Block::Exports const exports = reads ? block.exports() : residency.exports();
      bool const is_plain = (reads ? exports.writable : exports.total()) == 0 && !block.uses();
      if (is_plain && !residency.on_device()) [[likely]] {
        hold._is_locked = true;
        hold._source = hold._target = block.data();
        return;
      }
      state.unlock_and_release(hold._mode, hold._expected);
    }
  }
  // A partial `overwrite` needs the old contents of the rest.
  bool const keeps_rest = hold._mode == AccessMode::overwrite && extent == Extent::part && !hold._is_result;
  bool const copies_all = hold._copies_all && !reads;
  hold._kept = ArrayStatePtr::share(&state);
  hold._acquired = std::make_unique<Acquisition>(
      state,
      copies_all   ? AccessMode::write
      : keeps_rest ? AccessMode::update
                   : hold._mode,
      hold._lock_id, "a kernel", again ? Acquisition::Option::ahead_of_writers : Acquisition::Option::none, stream);
  hold._target = hold._acquired->target();
  hold._source = copies_all ? hold._target : hold._acquired->source();
}

void HeldArrays::find_space(StreamHandle const& stream) {
  KernelHold const& first = _holds.front();
  if (!first.on_device()) return;
  Block const& block = first._view ? first._view->block() : first._state->residency().block();
  _memory = &block.uses()->memory();
  _bound_stream = bind_stream(stream, _memory->context());
  _where = _memory->driver().is_simulated() ? ExecutionSpace::simulated : ExecutionSpace::device;
}

void HeldArrays::release() noexcept {
  for (KernelHold& hold : _holds) {
    hold._acquired.reset();
    hold._kept = {};
    if (std::exchange(hold._is_locked, false)) hold._state->unlock_and_release(hold._mode, hold._expected);
  }
}

void HeldArrays::leave_running() noexcept {
  for (KernelHold& hold : _holds) {
    if (hold._acquired)
      hold._acquired->left_running();
    else if (hold._view && _bound_stream)
      hold._view->block().uses()->submitted(end_of(*_bound_stream, *_memory), use_of(hold));
    else if (hold._is_locked && hold._mode != AccessMode::read)
      hold._state->residency().wrote();
  }
}

void HeldArrays::commit() noexcept {
  _is_committed = true;
  if (_where == ExecutionSpace::host) {
    for (KernelHold& hold : _holds) {
      if (hold._acquired)
        hold._acquired->commit();
      else if (hold._is_locked && hold._mode != AccessMode::read)
        hold._state->residency().wrote();
    }
    return;
  }
  PendingWork const end = end_of(*_bound_stream, *_memory);
  for (KernelHold& hold : _holds) {
    if (hold._acquired)
      hold._acquired->commit(end);
    else
      hold._view->block().uses()->submitted(end, use_of(hold));
  }
}

}  // namespace memarray::detail
