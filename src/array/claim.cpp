#include <memarray/array/claim.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>

#include <algorithm>
#include <functional>

namespace memarray::detail {
namespace {

void check_twice(std::span<Claim const> sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].state == sorted[i - 1].state &&
        (sorted[i].access != State::Access::read || sorted[i - 1].access != State::Access::read))
      throw LockError("one array is asked for twice, at least once for writing: " + sorted[i].state->describe());
}

}  // namespace

char const* lease_name(State::Access access) noexcept {
  return access == State::Access::read ? "a read lease" : "a write lease";
}

void take_all(std::span<Claim> claims, Timeout timeout) {
  std::sort(claims.begin(), claims.end(),
            [](Claim const& a, Claim const& b) { return std::less<State const*>{}(a.state, b.state); });
  check_twice(claims);
  Deadline const deadline(timeout);
  std::size_t taken = 0;
  try {
    for (; taken < claims.size(); ++taken) {
      Claim& claim = claims[taken];
      if (claim.access != State::Access::read) claim.id = State::next_lock_id();
      bool const again = taken > 0 && claims[taken - 1].state == claim.state;
      if (!claim.state->take(claim.access, claim.id, deadline.rest(), again))
        claim.state->refuse(lease_name(claim.access), -1);
    }
    for (Claim& claim : claims)
      if (claim.access == State::Access::overwrite && claim.state->must_leave_block())
        claim.fresh = claim.state->fresh_block();
  } catch (...) {
    while (taken > 0) {
      --taken;
      claims[taken].state->give_back(claims[taken].access);
      claims[taken].fresh = {};
    }
    throw;
  }
  for (Claim& claim : claims) {
    if (claim.access == State::Access::read) continue;
    Storage& storage = claim.state->storage();
    if (claim.fresh) {
      counters().versions.fetch_add(1, std::memory_order_relaxed);
      claim.fresh = storage.replace(storage.current(), std::move(claim.fresh));
    }
    storage.wrote(storage.current());
  }
}

void take_one(Claim& claim, Timeout timeout) {
  if (claim.access == State::Access::overwrite) return take_all({&claim, 1}, timeout);
  // Nothing can fail once the word is taken.
  bool const writes = claim.access != State::Access::read;
  if (writes) claim.id = State::next_lock_id();
  if (!claim.state->take(claim.access, claim.id, timeout)) claim.state->refuse(lease_name(claim.access), -1);
  if (writes) claim.state->storage().wrote(claim.state->storage().current());
}

}  // namespace memarray::detail
