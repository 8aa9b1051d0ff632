#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/state/hold.hpp>
#include <memarray/driver/simulated_devices.hpp>

namespace memarray::detail {
namespace {

// Returns the address for kernels, which differs on simulated devices.
std::byte* as_kernels_see(Block const& block) noexcept {
  if (block.device().is_cpu()) return block.data();
  return static_cast<std::byte*>(testing::detail::reachable(block.data()));
}

}  // namespace

Hold::Hold(ArrayState& state, Access access, std::int64_t lock_id, char const* what, Mode mode,
           StreamChoice const& stream)
    : _state(&state), _access(access), _taken(lock_id < 0) {
  if (!_taken) {
    // An open write lease, or `enter`, applied the escaped-view policy when it was opened.
    if (!state.is_held_under(lock_id)) state.refuse(what, lock_id);
    prepare(mode, stream);
    return;
  }
  // A partial write that fails must leave the array as it was, so its copy becomes the array's in `commit` only.
  Access const taken = access == Access::write ? Access::overwrite : access;
  if (!state.take(taken, LockWord::operation, no_wait, Place{.device = {}, .stream = stream}, mode == past_writers))
    state.refuse(what, lock_id);
  try {
    if (mode != in_place && access != Access::read && state.must_leave_block())
      _fresh = access == Access::write ? state.copied_block("a view was kept and the write may be partial", stream)
                                       : state.fresh_block(stream);
    prepare(mode, stream);
  } catch (...) {
    state.give_back(access);
    throw;
  }
}

void Hold::prepare(Mode mode, StreamChoice const& stream) {
  if (_state->on_device()) _queue = _state->queue(stream);
  if (mode == in_place) return;
  Block& block = *_state->storage().block();
  if (mode == orders_itself) {
    if (!_fresh) block.fence(_access != Access::read);
    return;
  }
  if (!_fresh)
    _state->await(block, _access, stream);
  else if (_access == Access::update)
    _state->await(block, Access::read, stream);
}

Hold::~Hold() {
  if (_taken) _state->give_back(_access);
}

std::byte const* Hold::source() const noexcept { return as_kernels_see(*_state->storage().block()); }

std::byte* Hold::target() const noexcept { return as_kernels_see(target_block()); }

void Hold::commit(Work work) noexcept {
  if (_queue && work == Work::submitted) return commit(end());
  publish();
}

void Hold::commit(PendingWork const& end) noexcept {
  if (_queue) used(end);
  publish();
}

void Hold::left_running() noexcept {
  if (!_queue) return;
  used(end());
  // The other side is now stale.
  if (_access != Access::read && !_fresh) _state->storage().wrote(_state->storage().current());
}

void Hold::used(PendingWork const& end) noexcept {
  StreamDependencies& old = *_state->storage().block()->uses();
  if (_access == Access::read || (_fresh && _access == Access::update)) old.submitted(end, Use::read);
  if (_access != Access::read) target_block().uses()->submitted(end, Use::write);
}

void Hold::publish() noexcept {
  if (_access == Access::read) return;
  Storage& storage = _state->storage();
  if (!_fresh) return storage.wrote(storage.current());
  counters().versions.fetch_add(1, std::memory_order_relaxed);
  _fresh = storage.replace(storage.current(), std::move(_fresh));
}

}  // namespace memarray::detail
