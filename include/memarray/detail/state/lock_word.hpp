#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/base/fork.hpp>
#include <memarray/state/timeout.hpp>

#include <atomic>
#include <cstdint>

namespace memarray::detail {

/// A readers-writer lock and a reference count in one word: a lease acquires or releases both in one operation.
///
/// Changes of a hold are sequentially consistent: reads of export counts must not pass them. Waiters poll signals,
/// without the interpreter lock. A waiting writer holds back new readers.
///
/// A forked child marks inherited holds as lost: calls that would wait for one fail at once. The forking thread can
/// still release its own.
class MEMARRAY_API LockWord {
 public:
  static constexpr std::int64_t free = -1;
  /// The lowest id of a lease; `MemArray::enter` takes smaller ones.
  static constexpr std::int64_t first_lease_id = std::int64_t{1} << 62;
  /// Writer id of a reader that relocates the array; other readers wait for it.
  static constexpr std::int64_t relocating = INT64_MAX;
  /// Id of an operation of the library.
  static constexpr std::int64_t operation = INT64_MAX - 1;
  /// The id while no writer has stored its own.
  static constexpr std::int64_t no_id = INT64_MAX - 2;

  /// True for ids of leases and of `MemArray::enter`.
  [[nodiscard]] static constexpr bool is_callers_id(std::int64_t id) noexcept { return id >= 0 && id < no_id; }

  /// Refuses `RefMode::counted` from now on: a second lock follows, in shared memory.
  void set_in_shared_memory() noexcept { _bits.fetch_or(in_shared_memory, std::memory_order_relaxed); }
  /// Requires the write hold.
  void rename(std::int64_t id) noexcept { _id.store(id, std::memory_order_release); }

  enum class RefMode : std::uint64_t { unchanged = 0, counted = 1 };

  /// Returns −1 if free, a writer's id (≥ 0), or −1 − n with n readers.
  [[nodiscard]] std::int64_t load() const noexcept {
    std::uint64_t const bits = _bits.load(std::memory_order_seq_cst);
    if (bits & writer) return _id.load(std::memory_order_acquire);
    return -1 - static_cast<std::int64_t>((bits / reader) & count_mask);
  }
  [[nodiscard]] static constexpr bool is_writer(std::int64_t word) noexcept { return word >= 0; }
  [[nodiscard]] static constexpr std::int64_t readers(std::int64_t word) noexcept {
    return word < free ? -1 - word : 0;
  }
  [[nodiscard]] bool writer_waits() const noexcept {
    std::uint64_t const waiters = _waiters.load(std::memory_order_relaxed);
    return (waiters & count_mask) != 0 && waiters / one_generation == generation() / one_generation;
  }
  /// True if only lost holds exclude a write, or else a read.
  [[nodiscard]] bool is_lost(bool to_write) const noexcept;

  void retain() noexcept { _bits.fetch_add(reference, std::memory_order_relaxed); }
  /// True if the caller must destroy the object.
  [[nodiscard]] bool release() noexcept {
    // A sole owner needs no atomic subtraction: only an owner can add references.
    if (_bits.load(std::memory_order_acquire) == reference) return true;
    if ((_bits.fetch_sub(reference, std::memory_order_release) & count_mask) != 1) return false;
    // Pairs with the releases of earlier drops.
    static_cast<void>(_bits.load(std::memory_order_acquire));
    return true;
  }

  /// The word as an acquisition left it. A release tries it first: a load would wait for the preceding atomic
  /// operation.
  using Expected = std::uint64_t;

  /// `ahead_of_writers`: the caller already holds a read, so waiting writers must not delay it.
  [[nodiscard]] bool try_lock_shared(bool ahead_of_writers = false, RefMode mode = RefMode::unchanged,
                                     Expected* expected = nullptr) noexcept {
    if (!is_plain()) [[unlikely]] {
      note_fork();
      if (!ahead_of_writers && writer_waits()) return false;
    }
    std::uint64_t const taken = reader + static_cast<std::uint64_t>(mode);
    std::uint64_t const against = writer | (mode == RefMode::counted ? in_shared_memory : 0);
    std::uint64_t bits = _bits.load(std::memory_order_relaxed);
    while (!(bits & against))
      if (_bits.compare_exchange_weak(bits, bits + taken, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        if (expected) *expected = bits + taken;
        return true;
      }
    return false;
  }
  [[nodiscard]] bool try_lock_exclusive(std::int64_t id, RefMode mode = RefMode::unchanged,
                                        Expected* expected = nullptr) noexcept {
    if (!is_plain()) [[unlikely]]
      note_fork();
    std::uint64_t const taken = writer + static_cast<std::uint64_t>(mode);
    std::uint64_t const against = writer | count_mask * reader | (mode == RefMode::counted ? in_shared_memory : 0);
    std::uint64_t bits = _bits.load(std::memory_order_relaxed);
    while (!(bits & against))
      if (_bits.compare_exchange_weak(bits, bits + taken, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        _id.store(id, std::memory_order_release);
        if (expected) *expected = bits + taken;
        return true;
      }
    return false;
  }

  [[nodiscard]] bool try_lock_to_relocate() noexcept { return try_lock_exclusive(relocating); }
  [[nodiscard]] bool lock_to_relocate(Timeout timeout) { return lock_exclusive(relocating, timeout); }

  /// Return false when time is up or a lost hold is in the way. Throw `Interrupted`. Readers wait for a relocation
  /// whatever the timeout.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool ahead_of_writers = false) {
    return try_lock_shared(ahead_of_writers) || wait_shared(timeout, ahead_of_writers);
  }
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout) {
    return try_lock_exclusive(id) || wait_exclusive(id, timeout);
  }

  /// Like `load`, once no reader relocates the array. Waits without the interpreter lock, which that reader may need.
  /// Throws `Interrupted`.
  [[nodiscard]] std::int64_t load_after_relocation() {
    std::int64_t word = load();
    for (; ends_soon(word); word = load()) wait_for_relocation();
    return word;
  }

  void unlock_shared() noexcept { static_cast<void>(give(reader, RefMode::unchanged, look())); }
  void unlock_exclusive() noexcept {
    _id.store(no_id, std::memory_order_relaxed);
    static_cast<void>(give(writer, RefMode::unchanged, look()));
  }
  [[nodiscard]] bool unlock_shared_and_release(Expected expected) noexcept {
    return give(reader, RefMode::counted, expected);
  }
  [[nodiscard]] bool unlock_exclusive_and_release(Expected expected) noexcept {
    _id.store(no_id, std::memory_order_relaxed);
    return give(writer, RefMode::counted, expected);
  }
  void downgrade() noexcept {
    _id.store(no_id, std::memory_order_relaxed);
    if (_bits.fetch_sub(writer - reader, std::memory_order_seq_cst) & sleepers) wake_sleepers();
  }

 private:
  class WaitingWriter;

  // `_bits`: [in_shared_memory: 1 bit][sleepers: 1][writer: 1][readers: 24][references: 24]
  static constexpr std::uint64_t reference = 1;
  static constexpr std::uint64_t reader = std::uint64_t{1} << 24;
  static constexpr std::uint64_t count_mask = reader - 1;
  static constexpr std::uint64_t writer = std::uint64_t{1} << 48;
  static constexpr std::uint64_t sleepers = std::uint64_t{1} << 49;
  static constexpr std::uint64_t in_shared_memory = std::uint64_t{1} << 50;
  // `_waiters`: [fork generation: 15 bits][lost writer: 1][lost readers: 24][waiting writers: 24]
  static constexpr std::uint64_t lost_reader = std::uint64_t{1} << 24;
  static constexpr std::uint64_t lost_writer = std::uint64_t{1} << 48;
  static constexpr std::uint64_t one_generation = std::uint64_t{1} << 49;

  [[nodiscard]] static std::uint64_t generation() noexcept {
    return current_fork_generation.load(std::memory_order_relaxed) * one_generation;
  }
  /// True if no writer waits and no hold is lost.
  [[nodiscard]] bool is_plain() const noexcept { return _waiters.load(std::memory_order_relaxed) == generation(); }
  /// Marks holds from before a fork as lost, at most as many as there are holds now.
  void note_fork() const noexcept;
  /// True while a reader relocates the array, or a writer has not stored its id; a lost hold never ends.
  [[nodiscard]] bool ends_soon(std::int64_t word) const noexcept {
    return (word == relocating || word == no_id) && (is_plain() || !is_lost(false));
  }

  [[nodiscard]] Expected look() const noexcept { return _bits.load(std::memory_order_relaxed); }
  [[nodiscard]] bool give(std::uint64_t hold, RefMode mode, Expected bits) noexcept {
    std::uint64_t const given = hold + static_cast<std::uint64_t>(mode);
    // Wake waiters before the reference is dropped: the last drop destroys the object.
    while (!(bits & sleepers))
      if (_bits.compare_exchange_weak(bits, bits - given, std::memory_order_seq_cst, std::memory_order_relaxed))
        return mode == RefMode::counted && ((bits - given) & count_mask) == 0;
    return give_and_wake(hold, mode);
  }
  bool give_and_wake(std::uint64_t hold, RefMode mode) noexcept;
  bool wait_shared(Timeout timeout, bool ahead_of_writers);
  bool wait_exclusive(std::int64_t id, Timeout timeout);
  bool wait_for_relocation();
  template <class Try, class Lost>
  bool wait(Timeout timeout, Try const& attempt, Lost const& is_in_vain);
  void wake_sleepers() noexcept;

  std::atomic<std::uint64_t> _bits{reference};
  std::atomic<std::int64_t> _id{no_id};
  mutable std::atomic<std::uint64_t> _waiters{generation()};
  std::atomic<std::uint32_t> _epoch{0};
};

}  // namespace memarray::detail
