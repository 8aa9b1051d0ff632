#include <memarray/array/lease.hpp>
#include <memarray/array/trace.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace memarray::detail {
namespace {

std::int64_t next_lock_id() noexcept {
  static std::atomic<std::int64_t> next{LockWord::first_lease_id};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

LeaseCore::LeaseCore(StatePtr state, Kind kind, LeaseOptions const& options) noexcept
    : _state(std::move(state)), _options(options), _kind(kind) {}

LeaseCore::~LeaseCore() {
  exit();
  if (_pinned.load(std::memory_order_relaxed)) _block->drop_export(is_write());
}

void LeaseCore::enter(Timeout timeout, bool past_writers, std::string const& where) {
  Status expected = Status::inert;
  if (!_status.compare_exchange_strong(expected, Status::entering))
    throw LockError(expected == Status::closed ? "this lease is over and cannot be opened again; take a new one"
                                               : "this lease is open already");
  char const* const what = is_write() ? "a write lease" : "a read lease";
  State::Access const access = !is_write()        ? State::Access::read
                               : _options.discard ? State::Access::overwrite
                                                  : State::Access::write;
  try {
    if (_options.device) _state->check_reachable(*_options.device, what);
    std::int64_t const id = is_write() ? next_lock_id() : -1;
    if (!_state->take(access, id, timeout, past_writers)) _state->refuse(what, -1);
    Storage& storage = _state->storage();
    try {
      if (access == State::Access::overwrite && _state->must_leave_block())
        storage.replace(storage.current(), _state->fresh_block());
      if (is_write()) storage.wrote(storage.current());
      _block = storage.block();
      if (!where.empty()) trace_opened(_state.get(), this, where);
    } catch (...) {
      _state->give_back(access);
      throw;
    }
    _id = id;
  } catch (...) {
    _status.store(Status::inert);
    throw;
  }
  _status.store(Status::open, std::memory_order_seq_cst);
}

void LeaseCore::exit() noexcept {
  Status expected = Status::open;
  // Marked before the word is given back: an export that counted itself too late sees the mark.
  if (!_status.compare_exchange_strong(expected, Status::closed, std::memory_order_seq_cst)) return;
  trace_closed(this);
  _state->give_back(is_write() ? State::Access::write : State::Access::read);
}

void LeaseCore::undo_enter() noexcept {
  exit();
  Status expected = Status::closed;
  _status.compare_exchange_strong(expected, Status::inert);
}

std::int64_t LeaseCore::lock_id() const noexcept { return is_open() ? _id : -1; }

Block& LeaseCore::pin() {
  if (_pinned.load(std::memory_order_acquire)) {
    if (!is_open()) throw_not_open();
    return *_block;
  }
  Block& block = begin_export();
  if (_pinned.exchange(true, std::memory_order_acq_rel)) block.drop_export(is_write());
  return block;
}

void LeaseCore::throw_not_open() const {
  throw LockError(_status.load() == Status::closed
                      ? "this lease is over: take what you need inside its 'with' block, or take a new lease"
                      : "this lease is not open yet: use it in a 'with' statement");
}

std::string trace_location(std::source_location const& where) {
  if (!options().trace_leases.load(std::memory_order_relaxed)) return {};
  return std::string(where.file_name()) + ":" + std::to_string(where.line()) + " (" + where.function_name() + ")";
}

void throw_lease_over() { throw LockError("this lease is over, or was moved from; take a new one"); }

void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where) {
  using Clock = std::chrono::steady_clock;
  std::vector<LeaseCore*> ordered(leases.begin(), leases.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](LeaseCore const* a, LeaseCore const* b) {
    return std::less<State const*>{}(&a->state(), &b->state());
  });
  for (std::size_t i = 1; i < ordered.size(); ++i)
    if (&ordered[i]->state() == &ordered[i - 1]->state() && (ordered[i]->is_write() || ordered[i - 1]->is_write()))
      throw LockError("one array is asked for twice, at least once for writing: " + ordered[i]->state().describe());

  bool const forever = !timeout || *timeout > std::chrono::hours(24 * 365 * 100);
  auto const deadline = forever ? Clock::time_point::max() : Clock::now() + *timeout;
  std::size_t opened = 0;
  try {
    for (; opened < ordered.size(); ++opened) {
      Timeout const rest =
          forever ? Timeout() : Timeout(std::max<std::chrono::nanoseconds>(no_wait, deadline - Clock::now()));
      bool const again = opened > 0 && &ordered[opened]->state() == &ordered[opened - 1]->state();
      ordered[opened]->enter(rest, again, where);
    }
  } catch (...) {
    while (opened > 0) ordered[--opened]->undo_enter();
    throw;
  }
}

}  // namespace memarray::detail
