#include "futex.hpp"

#include <memarray/detail/base/fork.hpp>
#include <memarray/detail/state/lock_word.hpp>

#include <algorithm>

namespace memarray::detail {
namespace {

constexpr Attempts attempts{.spins = 64, .yields = 16};

}  // namespace

/// A counted waiting writer. A forked child, without its parent's threads, counts afresh.
class LockWord::WaitingWriter {
 public:
  explicit WaitingWriter(LockWord& word) noexcept : _word(word), _generation(generation()) {
    // The failed attempt has stored this generation in `_waiters`.
    _word._waiters.fetch_add(1, std::memory_order_seq_cst);
  }
  ~WaitingWriter() {
    if (_generation == generation()) _word._waiters.fetch_sub(1, std::memory_order_seq_cst);
  }
  WaitingWriter(WaitingWriter const&) = delete;
  WaitingWriter& operator=(WaitingWriter const&) = delete;

 private:
  LockWord& _word;
  std::uint64_t _generation;
};

void LockWord::note_fork() const noexcept {
  std::uint64_t seen = _waiters.load(std::memory_order_seq_cst);
  for (;;) {
    std::uint64_t const bits = _bits.load(std::memory_order_seq_cst);
    std::uint64_t const readers = (bits / reader) & count_mask;
    bool const is_written = (bits & writer) != 0;
    bool const is_noted = seen / one_generation == generation() / one_generation;
    // Lost holds are among the present ones.
    std::uint64_t const lost = is_noted ? std::min((seen / lost_reader) & count_mask, readers) : readers;
    bool const lost_to_writer = is_written && (!is_noted || (seen & lost_writer) != 0);
    std::uint64_t const now =
        generation() + (lost_to_writer ? lost_writer : 0) + lost * lost_reader + (is_noted ? seen & count_mask : 0);
    if (now == seen || _waiters.compare_exchange_weak(seen, now, std::memory_order_seq_cst)) return;
  }
}

bool LockWord::is_lost(bool to_write) const noexcept {
  if (is_plain()) return false;
  note_fork();
  std::uint64_t const waiters = _waiters.load(std::memory_order_seq_cst);
  std::uint64_t const bits = _bits.load(std::memory_order_seq_cst);
  if (bits & writer) return (waiters & lost_writer) != 0;
  // A writer first waits for readers that are not lost.
  std::uint64_t const readers = (bits / reader) & count_mask;
  return to_write && readers != 0 && readers <= ((waiters / lost_reader) & count_mask);
}

template <class Try, class Lost>
bool LockWord::wait(Timeout timeout, Try const& attempt, Lost const& is_in_vain) {
  auto const mark_sleeper = [&] { return _bits.fetch_or(sleepers, std::memory_order_seq_cst); };
  return wait_with_futex(_epoch, FutexScope::process, timeout, attempts, attempt, mark_sleeper, is_in_vain);
}

bool LockWord::wait_shared(Timeout timeout, bool ahead_of_writers) {
  // A relocating reader is no conflict: even `no_wait` waits for it.
  while (ends_soon(load())) {
    if (wait_for_relocation() && try_lock_shared(ahead_of_writers)) return true;
  }
  if (try_lock_shared(ahead_of_writers)) return true;
  return wait(timeout, [&] { return try_lock_shared(ahead_of_writers); }, [&] { return is_lost(false); });
}

bool LockWord::wait_for_relocation() {
  return wait(std::chrono::milliseconds(1), [&] { return !ends_soon(load()); }, [] { return false; });
}

bool LockWord::wait_exclusive(std::int64_t id, Timeout timeout) {
  if (timeout && *timeout <= no_wait) return false;
  // A writer that gives up wakes the readers that it held back, after `waits` has uncounted it.
  struct Wake {
    LockWord& word;
    bool taken = false;
    ~Wake() {
      if (!taken) word.wake_sleepers();
    }
  } wake{*this};
  WaitingWriter const waits(*this);
  return wake.taken = wait(timeout, [&] { return try_lock_exclusive(id); }, [&] { return is_lost(true); });
}

bool LockWord::give_and_wake(std::uint64_t hold, RefMode mode) noexcept {
  _bits.fetch_sub(hold, std::memory_order_seq_cst);
  wake_sleepers();
  return mode == RefMode::counted && release();
}

void LockWord::wake_sleepers() noexcept {
  _bits.fetch_and(~sleepers, std::memory_order_seq_cst);
  futex_wake_all(_epoch, FutexScope::process);
}

}  // namespace memarray::detail
