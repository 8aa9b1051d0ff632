#include "segment.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/state/claim.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace memarray::detail {
namespace {

// Returns the identity of an array in shared memory; 0 for private arrays.
std::uint64_t uid_of(ArrayState const& state) noexcept { return state.segment() ? state.segment()->uid() : 0; }

bool is_same(Claim const& a, Claim const& b) noexcept {
  return a.state == b.state || (a.state->segment() && uid_of(*a.state) == uid_of(*b.state));
}

// By identity first: addresses differ between processes.
bool comes_before(Claim const& a, Claim const& b) noexcept {
  std::uint64_t const first = uid_of(*a.state);
  std::uint64_t const second = uid_of(*b.state);
  return first != second ? first < second : std::less<ArrayState const*>{}(a.state, b.state);
}

void check_twice(std::span<Claim const> sorted) {
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (is_same(sorted[i], sorted[i - 1]) &&
        (sorted[i].access != ArrayState::Access::read || sorted[i - 1].access != ArrayState::Access::read))
      throw LockError("one array is asked for twice, at least once for writing: " + sorted[i].state->describe() +
                      "; a write lease reads too, so ask for that alone");
}

// Takes the steps that can fail once the lock is held. If one does, `ArrayState::take` moves the array back.
void prepare(Claim& claim) {
  ArrayState& state = *claim.state;
  StreamChoice const& stream = claim.place.stream;
  if (claim.access == ArrayState::Access::overwrite && state.must_leave_block()) {
    claim.block = claim.fresh = state.fresh_block(stream);
    // Recorded as pending work: consumers' streams must wait until the allocation has happened.
    if (StreamDependencies* const uses = claim.fresh->uses()) {
      BoundStream const queue = state.queue(stream);
      uses->submitted(end_of(queue, uses->memory()), Use::write);
    }
  } else {
    bool const reads = claim.access == ArrayState::Access::read;
    claim.block = state.storage().block(reads ? state.side_in(claim.place) : state.storage().current());
    state.await(*claim.block, claim.access, stream);
  }
  StreamDependencies* const uses = claim.block->uses();
  if (!uses || claim.block->device().is_cpu()) return;
  claim.stream_lease = uses->open_lease(bind_stream(stream.get(), uses->memory().context()),
                                        claim.access == ArrayState::Access::read ? Use::read : Use::write);
}

void take(Claim& claim, Timeout timeout, bool past_writers) {
  if (claim.access != ArrayState::Access::read) claim.id = ArrayState::next_lock_id();
  try {
    if (!claim.state->take(claim.access, claim.id, timeout, claim.place, past_writers, [&claim] { prepare(claim); }))
      claim.state->refuse(lease_name(claim.access), -1);
  } catch (...) {
    claim.block = claim.fresh = {};
    throw;
  }
}

void publish(Claim& claim) noexcept {
  if (claim.access == ArrayState::Access::read) return;
  Storage& storage = claim.state->storage();
  if (claim.fresh) {
    counters().versions.fetch_add(1, std::memory_order_relaxed);
    claim.fresh = storage.replace(storage.current(), std::move(claim.fresh));
  }
  storage.wrote(storage.current());
}

}  // namespace

char const* lease_name(ArrayState::Access access) noexcept {
  return access == ArrayState::Access::read ? "a read lease" : "a write lease";
}

void take_all(std::span<Claim> claims, Timeout timeout) {
  std::sort(claims.begin(), claims.end(), comes_before);
  check_twice(claims);
  for (Claim& claim : claims) claim.place.is_among_others = claims.size() > 1;
  Deadline const deadline(timeout);
  std::size_t taken = 0;
  try {
    for (; taken < claims.size(); ++taken) {
      bool const again = taken > 0 && is_same(claims[taken - 1], claims[taken]);
      take(claims[taken], deadline.rest(), again);
    }
  } catch (...) {
    while (taken > 0) give_back(claims[--taken]);
    throw;
  }
  for (Claim& claim : claims) publish(claim);
}

void close_streams(Block& block, StreamDependencies::Lease stream_lease) noexcept {
  if (stream_lease != 0) block.uses()->close_lease(stream_lease, block.exports().total() != 0);
}

void give_back(Claim& claim) noexcept {
  if (claim.block) close_streams(*claim.block, std::exchange(claim.stream_lease, 0));
  claim.state->give_back(claim.access);
  claim.block = {};
  claim.fresh = {};
}

void take_one(Claim& claim, Timeout timeout) {
  take(claim, timeout, false);
  publish(claim);
}

}  // namespace memarray::detail
