#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/fork.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace memarray {

/// How long to wait for a lock: 0 (the default) not at all, `std::nullopt` until it is free or Ctrl-C is pressed.
using Timeout = std::optional<std::chrono::nanoseconds>;
inline constexpr std::chrono::nanoseconds no_wait{0};

namespace detail {

/// The lock of one array: a readers-writer lock in one word that also says who holds it.
///
/// Free at −1; held for writing under that id at ≥ 0; with n readers at −1 − n. Uncontended taking and releasing is
/// one compare-exchange or add, sequentially consistent: the next hold's look at a block's export counts must not
/// pass it. Waiters sleep on a futex in slices, between which the interpreter lock is free and signals are polled; a
/// waiting writer holds back new readers, so that it is not starved.
class MEMARRAY_API LockWord {
 public:
  static constexpr std::int64_t free = -1;
  /// Ids that leases draw for themselves start here.
  static constexpr std::int64_t first_lease_id = std::int64_t{1} << 62;
  /// A reader that for a moment needs the array for itself; other readers wait it out.
  static constexpr std::int64_t settling = INT64_MAX;
  /// An operation of the library's own that needs the array for itself.
  static constexpr std::int64_t operation = INT64_MAX - 1;

  [[nodiscard]] std::int64_t load() const noexcept { return _word.load(std::memory_order_seq_cst); }
  [[nodiscard]] static constexpr bool is_writer(std::int64_t word) noexcept { return word >= 0; }
  [[nodiscard]] static constexpr std::int64_t readers(std::int64_t word) noexcept { return word < free ? -1 - word : 0; }
  [[nodiscard]] bool writer_waits() noexcept {
    return _waiting_writers.load(std::memory_order_relaxed) != 0 && waiters_are_of_this_process();
  }
  /// Whether the word was last taken in a process that this one was forked from.
  [[nodiscard]] bool taken_before_fork() const noexcept {
    return _generation.load(std::memory_order_relaxed) != fork_generation();
  }

  /// `past_writers`: whoever already holds a read of this array must not be held back by a waiting writer.
  [[nodiscard]] bool try_lock_shared(bool past_writers = false) noexcept {
    if (!past_writers && writer_waits()) return false;
    std::int64_t word = _word.load(std::memory_order_relaxed);
    while (word < 0)
      if (_word.compare_exchange_weak(word, word - 1, std::memory_order_seq_cst, std::memory_order_relaxed))
        return stamp();
    return false;
  }
  [[nodiscard]] bool try_lock_exclusive(std::int64_t id) noexcept {
    std::int64_t expected = free;
    return _word.compare_exchange_strong(expected, id, std::memory_order_seq_cst, std::memory_order_relaxed) && stamp();
  }

  /// True when taken, false when the time was up. Throws `Interrupted`.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool past_writers = false) {
    return try_lock_shared(past_writers) || wait_shared(timeout, past_writers);
  }
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout) {
    return try_lock_exclusive(id) || wait_exclusive(id, timeout);
  }

  /// The word when no reader is settling. It lets go of the interpreter lock while it waits for that, as the reader may
  /// need it to end. Throws `Interrupted`.
  [[nodiscard]] std::int64_t load_settled() {
    std::int64_t word = load();
    for (; word == settling; word = load()) wait_settled();
    return word;
  }

  void unlock_shared() noexcept {
    if (_word.fetch_add(1, std::memory_order_seq_cst) == free - 1) wake();
  }
  void unlock_exclusive() noexcept {
    _word.store(free, std::memory_order_seq_cst);
    wake();
  }
  /// From exclusive to one reader, with nobody in between.
  void downgrade() noexcept {
    _word.store(free - 1, std::memory_order_seq_cst);
    wake();
  }

 private:
  bool wait_shared(Timeout timeout, bool past_writers);
  bool wait_exclusive(std::int64_t id, Timeout timeout);
  bool wait_settled();
  template <class Try>
  bool wait(Timeout timeout, Try const& attempt);
  void wake() noexcept {
    if (_sleepers.load(std::memory_order_seq_cst) != 0) wake_sleepers();
  }
  void wake_sleepers() noexcept;
  bool waiters_are_of_this_process() noexcept;
  void stamp_waiters() noexcept;
  bool stamp() noexcept {
    if (taken_before_fork()) _generation.store(fork_generation(), std::memory_order_relaxed);
    return true;
  }

  std::atomic<std::int64_t> _word{free};
  std::atomic<std::uint32_t> _epoch{0};
  std::atomic<std::uint32_t> _sleepers{0};
  std::atomic<std::uint32_t> _waiting_writers{0};
  std::atomic<std::uint32_t> _generation{0};
  std::atomic<std::uint32_t> _waiters_generation{0};
};

}  // namespace detail
}  // namespace memarray
