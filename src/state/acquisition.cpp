#include "memory/deferred.hpp"
#include "segment.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/base/fork.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <sched.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace memarray::detail {
namespace {

// Retries of a reader while others relocate the array.
constexpr int max_attempts = 10'000;

// Returns 0 for private arrays.
std::uint64_t uid_of(ArrayState const& state) noexcept {
  Segment const* const segment = state.lock().segment();
  return segment ? segment->uid() : 0;
}

bool is_same(ArrayState const& a, ArrayState const& b) noexcept {
  return &a == &b || (a.lock().segment() && uid_of(a) == uid_of(b));
}

// By identity first: addresses differ between processes.
bool comes_before(Acquisition const* a, Acquisition const* b) noexcept {
  std::uint64_t const first = uid_of(a->state());
  std::uint64_t const second = uid_of(b->state());
  return first != second ? first < second : std::less<ArrayState const*>{}(&a->state(), &b->state());
}

void check_twice(std::span<Acquisition* const> sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (is_same(sorted[i]->state(), sorted[i - 1]->state()) &&
        (sorted[i]->mode() != AccessMode::read || sorted[i - 1]->mode() != AccessMode::read))
      throw LockError("one array is requested twice, at least once for writing: " + sorted[i]->state().describe() +
                      "; a write lease also reads, so request that alone");
}

// The address differs on simulated devices.
std::byte* as_kernels_see(Block const& block) noexcept {
  if (block.device().is_cpu()) return block.data();
  return static_cast<std::byte*>(testing::detail::reachable(block.data()));
}

}  // namespace

Acquisition::Acquisition(ArrayState& state, AccessMode mode, std::optional<Device> const& device,
                         StreamChoice stream) noexcept
    : _state(&state), _mode(mode), _device(device), _stream(std::move(stream)) {
  // The CPU has one number. A negative one is refused when the lease begins.
  if (_device && _device->is_cpu() && _device->id > 0) _device = Device();
}

Acquisition::Acquisition(ArrayState& state, AccessMode mode, std::int64_t lock_id, char const* what, Option option,
                         StreamChoice stream)
    : _state(&state), _mode(mode), _stream(std::move(stream)) {
  if (lock_id >= 0) {
    // The lease or `enter` applied the policy for escaped views.
    if (!state.lock().is_held_under(lock_id)) state.refuse(what, lock_id);
    prepare_operation(option);
    return;
  }
  _id = mode == AccessMode::read ? -1 : LockWord::operation;
  // A failed partial write must leave the array as it was: `lock` does not detach for an overwrite, and `commit`
  // publishes the copy.
  bool const copies_later = mode == AccessMode::write && option != Option::lock_only;
  if (copies_later) _mode = AccessMode::overwrite;
  if (!lock(no_wait, option == Option::ahead_of_writers, [] {})) state.refuse(what, lock_id);
  _mode = mode;
  try {
    if (option != Option::lock_only && mode != AccessMode::read && state.write_needs_new_block())
      _fresh = copies_later ? state.residency().copy_block(
                                  state, "an escaped view is alive and the write may be partial", _stream)
                            : state.residency().allocate(state, state.bytes(), _stream);
    prepare_operation(option);
  } catch (...) {
    release();
    throw;
  }
}

Acquisition::Acquisition(Acquisition&& other) noexcept
    : _state(other._state),
      _mode(other._mode),
      _is_held(std::exchange(other._is_held, false)),
      _is_in_group(other._is_in_group),
      _generation(other._generation),
      _id(other._id),
      _stream_lease(std::exchange(other._stream_lease, 0)),
      _expected(std::move(other._expected)),
      _block(std::move(other._block)),
      _fresh(std::move(other._fresh)),
      _device(other._device),
      _stream(std::move(other._stream)),
      _bound_stream(std::move(other._bound_stream)),
      _before(std::move(other._before)) {}

// `prepare` is the last step under the lock. If a step throws, the array moves back and is unlocked.
template <class Prepare>
bool Acquisition::lock(Timeout timeout, bool ahead_of_writers, Prepare const& prepare) {
  run_deferred();
  _generation = fork_generation();
  ArrayState& state = *_state;
  ArrayLock& lock = state.lock();
  Residency& residency = state.residency();
  if (_device && !_device->is_cpu()) state.check_not_shared("a lease on a device");

  auto const exclusively = [&](auto const& steps) {
    std::optional<Residency::Snapshot> before;
    try {
      steps(before);
      prepare();
    } catch (...) {
      if (before) residency.restore(std::move(*before));
      lock.unlock_exclusive();
      throw;
    }
    _is_held = true;
    if (_is_in_group) _before = std::move(before);
  };

  if (_mode != AccessMode::read) {
    if (!lock.lock_exclusive(_id, timeout)) return false;
    exclusively([&](auto& before) {
      // Exports of the other side count, too: it becomes stale.
      if (state.escaped_views() == EscapedViews::error) state.check_policy(residency.exports(), "writing");
      if (_device && *_device != residency.block().device()) {
        before.emplace(residency.snapshot());
        move_for_lease();
      }
      if (_mode == AccessMode::write && state.write_needs_new_block())
        residency.detach(state,
                         residency.block().exports().writable != 0
                             ? "a writable escaped view is alive"
                             : "an escaped view is alive and the write may be partial",
                         _stream);
    });
    return true;
  }

  auto const relocate = [&] {
    exclusively([&](auto& before) {
      apply_policy_to_read(state, _stream);
      if (!_device) return;
      before.emplace(residency.snapshot());
      move_for_lease();
    });
    lock.downgrade();
    return true;
  };
  Deadline const deadline(timeout);
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    if (!lock.lock_shared(deadline.rest(), ahead_of_writers)) return false;
    bool must = false;
    try {
      if (state.escaped_views() == EscapedViews::error)
        if (Block::Exports const live = residency.block().exports_everywhere(); live.writable != 0)
          state.check_policy(live, "reading");
      must = must_relocate(attempt == 0);
      if (!must) prepare();
    } catch (...) {
      lock.unlock_shared(_generation);
      throw;
    }
    if (!must) {
      _is_held = true;
      return true;
    }
    lock.unlock_shared(_generation);
    if (lock.try_lock_to_relocate()) return relocate();
    ::sched_yield();
  }
  return timeout != Timeout(no_wait) && lock.lock_to_relocate(deadline.rest()) && relocate();
}

bool Acquisition::must_relocate(bool insist) const noexcept {
  Residency const& residency = _state->residency();
  Block const& current = residency.block();
  if (_state->escaped_views() == EscapedViews::snapshot && current.exports().writable != 0) return true;
  if (!_device || current.device() == *_device) return false;
  // After the first attempt other readers use the array: a valid other side is read without becoming current.
  Side const side = residency.side_on(_device);
  Storage const& storage = residency.storage();
  return insist || !storage.valid(side) || storage.block(side)->device() != *_device;
}

void Acquisition::move_for_lease() {
  Residency& residency = _state->residency();
  // Another lease of the group may still fail, so the contents are kept.
  AccessMode const mode = _is_in_group && _mode == AccessMode::overwrite ? AccessMode::write : _mode;
  if (!_device->is_cpu()) {
    // Checks the stream before anything moves.
    static_cast<void>(bind_stream(_stream.get(), DeviceMemory::of(_device->id)->context()));
    return residency.arrive(*_state, *_device, _stream, mode, CopyMode::async);
  }
  bool const copies = !residency.storage().valid(Side::host) && mode != AccessMode::overwrite;
  residency.arrive(*_state, *_device, _stream, mode, CopyMode::blocking);
  if (copies) report_wait("a lease on the host needed a copy from a device to be over");
}

void Acquisition::acquire_unpublished(Timeout timeout, bool ahead_of_writers) {
  if (_mode != AccessMode::read) _id = ArrayLock::next_lock_id();
  _stream_lease = 0;  // of an earlier attempt
  try {
    if (!lock(timeout, ahead_of_writers, [this] { prepare_lease(); })) _state->refuse(lease_name(_mode), -1);
  } catch (...) {
    _id = -1;
    _block = _fresh = {};
    throw;
  }
}

void Acquisition::prepare_lease() {
  ArrayState& state = *_state;
  if (!_expected.empty() && !std::ranges::equal(_expected, state.extents()))
    throw ValueError("expected an array of shape " + shape_text(_expected) + ", got " + state.describe());
  Residency& residency = state.residency();
  if (_mode == AccessMode::overwrite && state.write_needs_new_block()) {
    _block = _fresh = residency.allocate(state, state.bytes(), _stream);
    if (_fresh->uses()) record_allocation(*_fresh, residency.bind(_stream));
  } else {
    Storage const& storage = residency.storage();
    _block = storage.block(_mode == AccessMode::read ? residency.side_on(_device) : storage.current());
    await(*_block, use_of(_mode), _stream);
  }
  StreamDependencies* uses = _block->is_on_device() ? _block->uses() : nullptr;
  // Consumers may use unified memory in streams, too.
  if (!uses && _block->memory_type() == MemoryType::unified && !_block->exported_device().is_cpu())
    uses = &_block->uses_on(DeviceMemory::of(_block->exported_device().id));
  if (uses) _stream_lease = uses->open_lease(bind_stream(_stream.get(), uses->memory().context()), use_of(_mode));
}

void Acquisition::prepare_operation(Option option) {
  Residency& residency = _state->residency();
  if (residency.on_device()) _bound_stream = residency.bind(_stream);
  if (option == Option::lock_only) return;
  Block& block = residency.block();
  if (option == Option::orders_itself && residency.on_device()) {
    if (!_fresh) block.fence(_mode != AccessMode::read);
    return;
  }
  if (!_fresh)
    await(block, use_of(_mode), _stream);
  else if (_mode == AccessMode::update)
    await(block, Use::read, _stream);
}

// Moves the array of a refused group back; after a read, only if it is unused since and the earlier side still valid.
void Acquisition::undo() noexcept {
  Residency& residency = _state->residency();
  ArrayLock& lock = _state->lock();
  bool const moved = _before.has_value();
  bool const reads = _mode == AccessMode::read;
  if (moved && !reads) residency.restore(std::move(*_before));
  release();
  if (moved && reads && lock.try_lock_to_relocate()) {
    Storage const& now = residency.storage();
    Side const side = _before->storage.current();
    bool const is_unused =
        now.block().get() == _block.get() && now.valid(side) && now.block(side).get() == _before->storage.block().get();
    if (is_unused) residency.make_current(side, _before->device_id);
    lock.unlock_exclusive();
  }
  _before.reset();
  _block = _fresh = {};
  _id = -1;
}

void Acquisition::acquire(Timeout timeout) {
  _is_in_group = false;
  acquire_unpublished(timeout, false);
  publish_lease();
}

void acquire_all(std::span<Acquisition*> requests, Timeout timeout) {
  // NOLINTNEXTLINE(bugprone-nondeterministic-pointer-iteration-order): the order is not that of the pointers.
  std::sort(requests.begin(), requests.end(), comes_before);
  check_twice(requests);
  for (Acquisition* const request : requests) request->_is_in_group = requests.size() > 1;
  Deadline const deadline(timeout);
  std::size_t acquired = 0;
  try {
    for (; acquired < requests.size(); ++acquired) {
      bool const again = acquired > 0 && is_same(requests[acquired - 1]->state(), requests[acquired]->state());
      requests[acquired]->acquire_unpublished(deadline.rest(), again);
    }
  } catch (...) {
    while (acquired > 0) requests[--acquired]->undo();
    throw;
  }
  for (Acquisition* const request : requests) request->publish_lease();
}

void Acquisition::release() noexcept {
  if (!_is_held) return;
  _is_held = false;
  // Closed before the unlock: the next holder waits for its work.
  if (_stream_lease != 0) _block->uses()->close_lease(_stream_lease, _block->exports().total() != 0);
  if (_mode == AccessMode::read)
    _state->lock().unlock_shared(_generation);
  else
    _state->lock().unlock_exclusive();
}

std::byte* Acquisition::use() const {
  if (stream_lease() != 0) static_cast<void>(_block->uses()->export_to(_stream_lease, nullptr, true));
  return _block->data();
}

std::byte const* Acquisition::source() const noexcept { return as_kernels_see(_state->residency().block()); }

std::byte* Acquisition::target() const noexcept { return as_kernels_see(target_block()); }

void Acquisition::commit(Work work) noexcept {
  if (_bound_stream && work == Work::submitted) return commit(end());
  publish();
}

void Acquisition::commit(PendingWork const& end) noexcept {
  if (_bound_stream) record(end);
  publish();
}

void Acquisition::left_running() noexcept {
  if (_bound_stream) record(end());
  if (_mode != AccessMode::read && !_fresh) _state->residency().wrote();
}

void Acquisition::record(PendingWork const& end) noexcept {
  StreamDependencies& old = *_state->residency().block().uses();
  if (_mode == AccessMode::read || (_fresh && _mode == AccessMode::update)) old.submitted(end, Use::read);
  if (_mode != AccessMode::read) target_block().uses()->submitted(end, Use::write);
}

void Acquisition::publish_lease() noexcept {
  _before.reset();
  publish();
  // An operation keeps the replaced block until its lock is released.
  _fresh = {};
}

void Acquisition::publish() noexcept {
  if (_mode == AccessMode::read) return;
  if (!_fresh) return _state->residency().wrote();
  counters().versions.fetch_add(1, std::memory_order_relaxed);
  _fresh = _state->residency().replace(std::move(_fresh));
}

std::unique_ptr<Acquisition> Acquisition::keep(Acquisition&& lease) {
  bool const is_plain = !lease._state->lock().segment() && lease._stream_lease == 0 &&
                        lease._block.get() == &lease._state->residency().block();
  if (!is_plain) return std::make_unique<Acquisition>(std::move(lease));
  lease._is_held = false;
  return nullptr;
}

void apply_policy_to_read(ArrayState& state, StreamChoice const& stream) {
  Residency& residency = state.residency();
  auto const exports = residency.block().exports();
  if (exports.writable == 0 || state.escaped_views() == EscapedViews::alias) return;
  state.check_policy(exports, "reading");
  residency.detach(state, "a writable escaped view is alive", residency.stream_here(stream));
}

char const* lease_name(AccessMode mode) noexcept { return mode == AccessMode::read ? "a read lease" : "a write lease"; }

void Acquisition::enter(ArrayState& state, std::int64_t lock_id) {
  Acquisition hold(state, AccessMode::write, std::nullopt, {});
  hold._id = lock_id;
  if (!hold.lock(no_wait, false, [] {})) state.refuse("enter", lock_id);
  state.lock().set_entered(lock_id);
  hold._is_held = false;
}

}  // namespace memarray::detail
