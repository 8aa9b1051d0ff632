#include <memarray/array/hold.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>

namespace memarray::detail {

Hold::Hold(State& state, Access access, std::int64_t lock_id, char const* what, Mode mode)
    : _state(&state), _access(access), _taken(true) {
  if (lock_id >= 0) {
    // On behalf of an open write lease, or of `enter`, which decided about kept views when it was opened.
    if (!state.is_held_under(lock_id)) state.refuse(what, lock_id);
    _taken = false;
    return;
  }
  // A partial write that fails must leave the array as it was: its copy becomes the array's in `commit`, too.
  Access const taken = access == Access::write ? Access::overwrite : access;
  if (!state.take(taken, LockWord::operation, no_wait, mode == past_writers)) state.refuse(what, lock_id);
  if (mode == in_place || access == Access::read || !state.must_leave_block()) return;
  try {
    _fresh = access == Access::write ? state.copied_block("a view was kept and the write may be partial")
                                     : state.fresh_block();
  } catch (...) {
    state.give_back(access);
    throw;
  }
}

Hold::~Hold() {
  if (_taken) _state->give_back(_access);
}

std::byte const* Hold::source() const noexcept { return _state->storage().block()->data(); }

std::byte* Hold::target() const noexcept { return _fresh ? _fresh->data() : _state->storage().block()->data(); }

void Hold::commit() noexcept {
  if (_access == Access::read) return;
  Storage& storage = _state->storage();
  if (!_fresh) return storage.wrote(storage.current());
  counters().versions.fetch_add(1, std::memory_order_relaxed);
  _fresh = storage.replace(storage.current(), std::move(_fresh));
}

}  // namespace memarray::detail
