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
namespace {

[[noreturn]] MEMARRAY_COLD void throw_closed_while_opened() {
  throw LockError("this lease was closed while another thread opened it; take a new one");
}

}  // namespace

LeaseCore::LeaseCore(ArrayStatePtr state, Kind kind, LeaseOptions const& options) noexcept
    : _state(std::move(state)),
      _acquired(*_state,
                kind == Kind::read ? AccessMode::read
                : options.discard  ? AccessMode::overwrite
                                   : AccessMode::write,
                options.device, options.stream),
      _timeout(options.timeout),
      _kind(kind) {}

LeaseCore::~LeaseCore() {
  exit();
  if (_pinned.load(std::memory_order_relaxed)) _acquired.block()->drop_export(is_write());
}

void LeaseCore::begin() {
  Status expected = Status::inert;
  if (!_status.compare_exchange_strong(expected, Status::entering))
    throw LockError(expected == Status::closed ? "this lease is over and cannot be opened again; take a new one"
                                               : "this lease is open already");
  if (!_acquired.device()) return;
  try {
    _state->residency().check_reachable(*_state, *_acquired.device(), lease_name(_acquired.mode()));
  } catch (...) {
    abandon();
    throw;
  }
}

bool LeaseCore::finish(std::string const& where) noexcept {
  if (!where.empty()) {
    try {
      trace_opened(_state.get(), this, where);
    } catch (std::bad_alloc const&) {
      // The lease works untraced.
    }
  }
  Status expected = Status::entering;
  if (_status.compare_exchange_strong(expected, Status::open)) return true;
  trace_closed(this);
  _acquired.release();
  return false;
}

void LeaseCore::abandon() noexcept {
  Status expected = Status::entering;
  _status.compare_exchange_strong(expected, Status::inert);
}

void LeaseCore::enter(std::string const& where) {
  begin();
  try {
    _acquired.acquire(_timeout);
  } catch (...) {
    abandon();
    throw;
  }
  if (!finish(where)) throw_closed_while_opened();
}

void enter_all(std::span<LeaseCore* const> leases, Timeout timeout, std::string const& where) {
  std::vector<Acquisition*> requests;
  requests.reserve(leases.size());
  try {
    for (LeaseCore* const lease : leases) {
      lease->begin();
      requests.push_back(&lease->_acquired);
    }
    acquire_all(requests, timeout);
  } catch (...) {
    for (std::size_t i = 0; i < requests.size(); ++i) leases[i]->abandon();
    throw;
  }
  bool all_open = true;
  for (LeaseCore* const lease : leases) all_open = lease->finish(where) && all_open;
  if (all_open) return;
  for (LeaseCore* const lease : leases) lease->exit();
  throw_closed_while_opened();
}

void LeaseCore::exit() noexcept {
  Status known = _status.load();
  // Before the unlock: `add_export` refuses an export that it counted too late.
  do {
    if (known != Status::open && known != Status::entering) return;
  } while (!_status.compare_exchange_weak(known, Status::closed, std::memory_order_seq_cst));
  if (known == Status::entering) return;  // its thread releases it
  trace_closed(this);
  _acquired.release();
}

std::int64_t LeaseCore::lock_id() const noexcept { return is_open() ? _acquired.id() : -1; }

Block& LeaseCore::pin() {
  if (_pinned.load(std::memory_order_acquire)) {
    check_open();
    return *_acquired.block();
  }
  Block& block = add_export();
  if (_pinned.exchange(true, std::memory_order_acq_rel)) block.drop_export(is_write());
  return block;
}

void LeaseCore::order_export(StreamHandle const* stream) const {
  StreamDependencies::Lease const ordered = _acquired.exports_lease();
  if (ordered == 0) return check_open();  // host memory
  StreamDependencies& uses = *_acquired.block()->uses();
  std::optional<BoundStream> bound_stream;
  if (stream) bound_stream = bind_stream(*stream, uses.memory().context());
  if (!uses.export_to(ordered, bound_stream ? &*bound_stream : nullptr, stream != nullptr)) throw_not_open();
}

void LeaseCore::copy_shape(std::int64_t* extents) const {
  // A lease opens only once: open before and after the copy, it was open throughout.
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

Acquisition acquire_lease(ArrayState& state, AccessMode mode, LeaseOptions const& options) {
  if (options.device) state.residency().check_reachable(state, *options.device, lease_name(mode));
  Acquisition lease(state, mode, options.device, options.stream);
  lease.acquire(options.timeout);
  return lease;
}

void const* trace_typed_lease(ArrayState const* state, std::source_location const& where) noexcept {
  static std::atomic<std::uintptr_t> next{1};
  // A `TypedLease` moves, so an odd number identifies it; the address of a `LeaseCore` is even.
  auto const* const token = reinterpret_cast<void const*>(next.fetch_add(2, std::memory_order_relaxed));
  try {
    trace_opened(
        state, token,
        std::string(where.file_name()) + ":" + std::to_string(where.line()) + " (" + where.function_name() + ")");
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  return token;
}

void throw_lease_over() { throw LockError("this lease is over, or was moved from; take a new one"); }

}  // namespace memarray::detail
