#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/lock_word.hpp>
#include <memarray/state/timeout.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace memarray::detail {

class Segment;

/// An array's readers-writer lock and reference count. A word excludes threads of this process; in shared memory, a
/// second lock, acquired after the word and released before it, excludes other processes. `lock_id` −1 is no id.
class MEMARRAY_API ArrayLock {
 public:
  void retain() noexcept { _word.retain(); }
  [[nodiscard]] bool release() noexcept { return _word.release(); }

  /// Precedes use by a second thread. `segment` must outlive all calls.
  void add_segment(Segment& segment) noexcept;
  /// Returns null for private memory.
  [[nodiscard]] Segment* segment() const noexcept { return _segment; }

  /// Return false after `timeout`. Throw `Interrupted`; `Error` if a forked child finds no free slot.
  /// `ahead_of_writers` is as in `LockWord`.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool ahead_of_writers = false) {
    if (_segment) [[unlikely]]
      return lock_both_shared(timeout, ahead_of_writers);
    return _word.lock_shared(timeout, ahead_of_writers);
  }
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout) {
    if (_segment) [[unlikely]]
      return lock_both_exclusive(id, timeout);
    return _word.lock_exclusive(id, timeout);
  }
  /// `generation`: the `fork_generation` of the lock's acquisition. A parent process's hold on a segment stays.
  void unlock_shared(std::uint32_t generation) noexcept;
  void unlock_exclusive() noexcept;

  // To relocate a private array, a reader locks it exclusively, replaces the block or moves the array, and downgrades.
  [[nodiscard]] bool try_lock_to_relocate() noexcept { return _word.try_lock_to_relocate(); }
  [[nodiscard]] bool lock_to_relocate(Timeout timeout) { return _word.lock_to_relocate(timeout); }
  void downgrade() noexcept { _word.downgrade(); }

  /// Returns the id of a write lease or `enter`, in any process; else −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  /// True if no thread of this process holds the lock.
  [[nodiscard]] bool is_free() const noexcept { return _word.load() == LockWord::free; }
  [[nodiscard]] bool is_held_under(std::int64_t lock_id) const noexcept {
    return LockWord::is_callers_id(lock_id) && _word.load() == lock_id;
  }
  /// True if a write under `lock_id` would succeed now.
  [[nodiscard]] bool admits_write(std::int64_t lock_id) const noexcept {
    // A closed lease's id is a mistake, refused even on a free array.
    if (lock_id >= 0) return is_held_under(lock_id);
    return is_free() && !(_segment && is_used_elsewhere());
  }
  /// True if a read would succeed now. Waits for a relocating reader. Throws `Interrupted`.
  [[nodiscard]] bool admits_read(std::int64_t lock_id) {
    if (lock_id >= 0) return is_held_under(lock_id);
    return !LockWord::is_writer(_word.load_after_relocation()) && !(_segment && is_written_elsewhere());
  }
  [[nodiscard]] std::string obstacle(std::int64_t lock_id) const;

  // Record and release a write hold that no object owns.
  void set_entered(std::int64_t id) noexcept { _entered.store(id, std::memory_order_relaxed); }
  void end_entered() noexcept;

  [[nodiscard]] static std::int64_t next_lock_id() noexcept;
  [[nodiscard]] LockWord& word() noexcept { return _word; }

 private:
  // Require a segment.
  [[nodiscard]] bool is_used_elsewhere() const noexcept;
  [[nodiscard]] bool is_written_elsewhere() const noexcept;
  [[nodiscard]] bool lock_both_shared(Timeout timeout, bool ahead_of_writers);
  [[nodiscard]] bool lock_both_exclusive(std::int64_t id, Timeout timeout);

  LockWord _word;
  std::atomic<std::int64_t> _entered{-1};
  Segment* _segment = nullptr;
};

}  // namespace memarray::detail
