#include "segment.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>
#include <memarray/detail/state/trace.hpp>
#include <memarray/state/lease.hpp>

#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace memarray::detail {

LeaseCore::LeaseCore(ArrayStatePtr state, Kind kind, LeaseOptions const& options) noexcept
    : _state(std::move(state)), _options(options), _kind(kind) {}

LeaseCore::~LeaseCore() {
  exit();
  if (_pinned.load(std::memory_order_relaxed)) _block->drop_export(is_write());
}

void LeaseCore::begin() {
  Status expected = Status::inert;
  if (!_status.compare_exchange_strong(expected, Status::entering))
    throw LockError(expected == Status::closed ? "this lease is over and cannot be opened again; take a new one"
                                               : "this lease is open already");
  if (!_options.device) return;
  try {
    _state->check_reachable(*_options.device, lease_name(access()));
  } catch (...) {
    abandon();
    throw;
  }
}

void LeaseCore::finish(Claim& claim, std::string const& where) noexcept {
  _block = std::move(claim.block);
  _id = claim.id;
  _stream_lease = claim.stream_lease;
  if (!where.empty()) {
    try {
      trace_opened(_state.get(), this, where);
    } catch (std::bad_alloc const&) {
      // The lease is valid without its trace.
    }
  }
  _status.store(Status::open, std::memory_order_release);
}

ArrayState::Access LeaseCore::access() const noexcept {
  if (!is_write()) return ArrayState::Access::read;
  return _options.discard ? ArrayState::Access::overwrite : ArrayState::Access::write;
}

void LeaseCore::enter(std::string const& where) {
  begin();
  Claim claim{_state.get(), access(), 0, place()};
  try {
    take_one(claim, _options.timeout);
  } catch (...) {
    abandon();
    throw;
  }
  finish(claim, where);
}

void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where) {
  std::vector<Claim> claims;
  claims.reserve(leases.size());
  try {
    for (LeaseCore* const lease : leases) {
      lease->begin();
      claims.push_back({&lease->state(), lease->access(), claims.size(), lease->place()});
    }
    take_all(claims, timeout);
  } catch (...) {
    for (Claim const& claim : claims) leases[claim.position]->abandon();
    throw;
  }
  for (Claim& claim : claims) leases[claim.position]->finish(claim, where);
}

void LeaseCore::exit() noexcept {
  Status expected = Status::open;
  // Closed before the lock is released: an export that was counted too late sees the new status.
  if (!_status.compare_exchange_strong(expected, Status::closed, std::memory_order_seq_cst)) return;
  trace_closed(this);
  close_streams(*_block, _stream_lease);
  _state->give_back(is_write() ? ArrayState::Access::write : ArrayState::Access::read);
}

std::int64_t LeaseCore::lock_id() const noexcept { return is_open() ? _id : -1; }

Block& LeaseCore::pin() {
  if (_pinned.load(std::memory_order_acquire)) {
    check_open();
    return *_block;
  }
  Block& block = begin_export();
  if (_pinned.exchange(true, std::memory_order_acq_rel)) block.drop_export(is_write());
  return block;
}

void LeaseCore::order_export(StreamHandle const* stream) const {
  if (_stream_lease == 0) return check_open();
  StreamDependencies& uses = *_block->uses();
  std::optional<BoundStream> queue;
  if (stream) queue = bind_stream(*stream, uses.memory().context());
  if (!uses.export_to(_stream_lease, queue ? &*queue : nullptr, stream != nullptr)) throw_not_open();
}

void LeaseCore::copy_shape(std::int64_t* extents) const {
  // Open before and after means open in between, because a lease opens once.
  check_open();
  _state->copy_shape(extents);
  check_open();
}

char const* LeaseCore::status_name() const noexcept {
  switch (_status.load()) {
    case Status::open: return "open";
    case Status::closed: return "closed";
    default: return "unopened";
  }
}

void LeaseCore::throw_not_open() const {
  throw LockError(_status.load() == Status::closed
                      ? "this lease is over: take what you need inside its 'with' block, or take a new lease"
                      : "this lease is not open yet: use it in a 'with' statement");
}

std::unique_ptr<LeasedBlock> lease_block(Claim& claim) {
  Segment* const segment = claim.state->segment();
  if (!segment && claim.stream_lease == 0 && claim.block.get() == claim.state->storage().block().get()) return nullptr;
  try {
    return std::make_unique<LeasedBlock>(LeasedBlock{claim.block, claim.stream_lease, segment, claim.access});
  } catch (...) {
    give_back(claim);
    throw;
  }
}

std::byte* use_block(LeasedBlock& leased) {
  if (leased.stream_lease != 0) static_cast<void>(leased.block->uses()->export_to(leased.stream_lease, nullptr, true));
  return leased.block->data();
}

void close_block(std::unique_ptr<LeasedBlock> leased) noexcept {
  close_streams(*leased->block, leased->stream_lease);
  if (leased->segment) leased->segment->unlock(leased->access != ArrayState::Access::read);
}

void open_slowly(Claim& claim, LeaseOptions const& options) {
  claim.place = {options.device, options.stream};
  if (options.device) claim.state->check_reachable(*options.device, lease_name(claim.access));
  take_one(claim, options.timeout);
}

void const* trace_typed_lease(ArrayState const* state, std::source_location const& where) noexcept {
  static std::atomic<std::uintptr_t> next{1};
  // Leases move, so an odd number identifies one: no lease has an odd address.
  auto const* const token = reinterpret_cast<void const*>(next.fetch_add(2, std::memory_order_relaxed));
  try {
    trace_opened(
        state, token,
        std::string(where.file_name()) + ":" + std::to_string(where.line()) + " (" + where.function_name() + ")");
  } catch (std::bad_alloc const&) {
    return nullptr;  // the lease is valid without its trace
  }
  return token;
}

void ArrayState::enter(std::int64_t lock_id) {
  if (lock_id < 0) throw ValueError("enter takes a lock id of 0 or more, not " + std::to_string(lock_id));
  if (lock_id >= LockWord::first_lease_id)
    throw ValueError("lock ids from 2**62 on are those of leases; enter takes a smaller one");
  if (!take(Access::write, lock_id, no_wait)) refuse("enter", lock_id);
  _entered.store(lock_id, std::memory_order_relaxed);
}

void ArrayState::leave() noexcept {
  std::int64_t const id = _entered.exchange(-1, std::memory_order_relaxed);
  if (id >= 0 && _word.load() == id) give_back(Access::write);
}

void throw_lease_over() { throw LockError("this lease is over, or was moved from; take a new one"); }

}  // namespace memarray::detail
