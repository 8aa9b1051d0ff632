#include "segment.hpp"

#include <memarray/detail/base/fork.hpp>
#include <memarray/detail/state/array_lock.hpp>

namespace memarray::detail {

void ArrayLock::add_segment(Segment& segment) noexcept {
  _segment = &segment;
  _word.set_in_shared_memory();
}

bool ArrayLock::lock_both_shared(Timeout timeout, bool ahead_of_writers) {
  Deadline const deadline(timeout);
  if (!_word.lock_shared(deadline.rest(), ahead_of_writers)) return false;
  bool acquired = false;
  try {
    acquired = _segment->lock_shared(deadline.rest(), ahead_of_writers);
  } catch (...) {
    _word.unlock_shared();
    throw;
  }
  if (!acquired) _word.unlock_shared();
  return acquired;
}

bool ArrayLock::lock_both_exclusive(std::int64_t id, Timeout timeout) {
  Deadline const deadline(timeout);
  // A placeholder: no access succeeds under `id` before both locks are held.
  if (!_word.lock_exclusive(LockWord::operation, deadline.rest())) return false;
  bool acquired = false;
  try {
    acquired = _segment->lock_exclusive(id, deadline.rest());
  } catch (...) {
    _word.unlock_exclusive();
    throw;
  }
  if (acquired)
    _word.rename(id);
  else
    _word.unlock_exclusive();
  return acquired;
}

void ArrayLock::unlock_shared(std::uint32_t generation) noexcept {
  if (_segment && generation == fork_generation()) _segment->unlock_shared();
  _word.unlock_shared();
}

void ArrayLock::unlock_exclusive() noexcept {
  if (_segment) _segment->unlock_exclusive();
  _word.unlock_exclusive();
}

std::int64_t ArrayLock::lock_id() const noexcept {
  std::int64_t const word = _word.load();
  if (LockWord::is_callers_id(word)) return word;
  std::int64_t const elsewhere = _segment ? _segment->lock_id() : -1;
  return LockWord::is_callers_id(elsewhere) ? elsewhere : -1;
}

bool ArrayLock::is_used_elsewhere() const noexcept { return _segment->is_used_elsewhere(); }

bool ArrayLock::is_written_elsewhere() const noexcept { return _segment->is_written_elsewhere(); }

std::string ArrayLock::obstacle(std::int64_t lock_id) const {
  std::int64_t const word = _word.load();
  std::string text = _segment ? _segment->holder() : "";
  if (!text.empty()) {
    // The segment has other holders.
  } else if (LockWord::is_writer(word) && !LockWord::is_callers_id(word))
    text = "an operation of memarray is using it; try again, or pass a timeout";
  else if (LockWord::is_writer(word))
    text = word >= LockWord::first_lease_id
               ? "it is leased for writing (lock id " + std::to_string(word) + "); close that lease first"
               : "it is held for writing under lock id " + std::to_string(word) + "; call exit() first";
  else if (std::int64_t const readers = LockWord::readers(word); readers > 0)
    text = "it is leased for reading by " + std::to_string(readers) + (readers == 1 ? " lease" : " leases") +
           "; close " + (readers == 1 ? "it" : "them") + " first";
  else
    text = lock_id >= 0
               ? "the lease with the given id is over"
               : "another thread held it a moment ago, or a writer is waiting for it; try again, or pass a timeout";
  if (lock_id >= 0) text += " (lock id " + std::to_string(lock_id) + " was given)";
  if (_word.is_lost(true))
    text +=
        "; it was acquired before this process was forked: if by a thread that does not exist here, it stays held in "
        "this process and is not waited for: work on a copy that was made before the fork";
  return text;
}

void ArrayLock::end_entered() noexcept {
  std::int64_t const id = _entered.exchange(-1, std::memory_order_relaxed);
  if (id >= 0 && _word.load() == id) unlock_exclusive();
}

std::int64_t ArrayLock::next_lock_id() noexcept {
  // Each thread draws batches of ids to avoid contention; `first_lease_id` is a multiple of `batch`.
  constexpr std::int64_t batch = 1024;
  static std::atomic<std::int64_t> next_batch{LockWord::first_lease_id};
  thread_local std::int64_t next = 0;
  if (next % batch == 0) next = next_batch.fetch_add(batch, std::memory_order_relaxed);
  return next++;
}

}  // namespace memarray::detail
