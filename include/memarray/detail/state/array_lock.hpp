#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/lock_word.hpp>
#include <memarray/state/timeout.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace memarray::detail {

class Segment;

/// The readers-writer lock of an array, with the count of references to the array's state.
///
/// A lock word excludes the threads of this process. For an array in shared memory a second lock excludes other
/// processes. It is acquired after the word and released before it. A writer holds the lock under an id; `lock_id` −1
/// in a call means that the caller has none.
class MEMARRAY_API ArrayLock {
 public:
  void retain() noexcept { _word.retain(); }
  /// Drops a reference. True if it was the last: the caller destroys the state.
  [[nodiscard]] bool release() noexcept { return _word.release(); }

  /// Adds the lock of shared memory, before a second thread uses the array. `segment` must outlive the last call.
  void add_segment(Segment& segment) noexcept;
  /// Returns the attachment to shared memory; null for private memory.
  [[nodiscard]] Segment* segment() const noexcept { return _segment; }

  /// Acquire the lock. Return false if it is not free within `timeout`. Throw `Interrupted`; `Error` if a forked child
  /// finds no free slot in shared memory. `past_writers`: the caller already holds a read of this array, so a waiting
  /// writer does not delay this one.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool past_writers = false) {
    if (_segment) [[unlikely]]
      return lock_both_shared(timeout, past_writers);
    return _word.lock_shared(timeout, past_writers);
  }
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout) {
    if (_segment) [[unlikely]]
      return lock_both_exclusive(id, timeout);
    return _word.lock_exclusive(id, timeout);
  }
  void unlock_shared() noexcept;
  void unlock_exclusive() noexcept;

  // A reader settles a private array, never a shared one: it holds the lock exclusively for a moment, to replace the
  // block or to move the array, and then becomes a reader.
  [[nodiscard]] bool try_settle() noexcept { return _word.try_settle(); }
  [[nodiscard]] bool settle(Timeout timeout) { return _word.settle(timeout); }
  void downgrade() noexcept { _word.downgrade(); }

  /// Returns the id that the array is held for writing under, by any process; else −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  /// True if no thread of this process holds the lock.
  [[nodiscard]] bool is_free() const noexcept { return _word.load() == LockWord::free; }
  /// True if the array is held for writing under `lock_id`, the id of a lease or of `enter`.
  [[nodiscard]] bool is_held_under(std::int64_t lock_id) const noexcept {
    return lock_id >= 0 && lock_id < LockWord::operation && _word.load() == lock_id;
  }
  /// True if a write under `lock_id` would succeed now.
  [[nodiscard]] bool admits_write(std::int64_t lock_id) const noexcept {
    // The id of a closed lease is refused even on a free array: it is the caller's mistake.
    if (lock_id >= 0) return is_held_under(lock_id);
    return is_free() && !(_segment && is_used_elsewhere());
  }
  /// True if a read under `lock_id` would succeed now. First waits for a reader that settles the array; that wait
  /// throws `Interrupted`.
  [[nodiscard]] bool admits_read(std::int64_t lock_id) {
    if (lock_id >= 0) return is_held_under(lock_id);
    return !LockWord::is_writer(_word.load_settled()) && !(_segment && is_written_elsewhere());
  }
  /// Describes what refuses a call under `lock_id`, for messages.
  [[nodiscard]] std::string obstacle(std::int64_t lock_id) const;

  /// Records the id of a hold that no object owns, until `end_entered`.
  void set_entered(std::int64_t id) noexcept { _entered.store(id, std::memory_order_relaxed); }
  /// Releases the hold of `set_entered`. Does nothing if there is none.
  void end_entered() noexcept;

  /// Returns a new id of a lease.
  [[nodiscard]] static std::int64_t next_lock_id() noexcept;
  /// Returns the lock among threads, which a lease of a private array acquires together with a reference.
  [[nodiscard]] LockWord& word() noexcept { return _word; }

 private:
  // For an array in shared memory: true if another attachment holds it at all, or for writing.
  [[nodiscard]] bool is_used_elsewhere() const noexcept;
  [[nodiscard]] bool is_written_elsewhere() const noexcept;
  [[nodiscard]] bool lock_both_shared(Timeout timeout, bool past_writers);
  [[nodiscard]] bool lock_both_exclusive(std::int64_t id, Timeout timeout);

  LockWord _word;
  std::atomic<std::int64_t> _entered{-1};
  Segment* _segment = nullptr;
};

}  // namespace memarray::detail
