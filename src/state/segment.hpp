#pragma once

#include "segment_slot.hpp"

#include <memarray/base/config.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/segment_layout.hpp>
#include <memarray/state/timeout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

/// An array object's attachment to shared memory: the lock and export counts of all processes.
///
/// A reader counts itself in its slot, then reads the lock word; a writer claims that word, then reads all slots. All
/// accesses are sequentially consistent, so at least one sees the other. Every hold identifies its process, in case
/// that is killed.
class MEMARRAY_API Segment final : private ExportTally {
 public:
  using Exports = Block::Exports;

  /// A block of elements, which owns the segment.
  struct Attached {
    BlockPtr block;
    Segment* segment;
  };
  /// Takes a slot, and ownership of `keep_alive` even if it throws. `layout` has been checked; `name` may be empty.
  /// Throws `Error` if no slot is free, `std::bad_alloc`.
  [[nodiscard]] static Attached attach(std::span<std::byte> memory, SegmentLayout const& layout,
                                       Block::KeepAlive keep_alive, std::string name);

  [[nodiscard]] std::string const& name() const noexcept { return _slot.name(); }
  [[nodiscard]] std::uint64_t uid() const noexcept { return _uid; }

  /// Require the array's own lock word in that mode. Return false after `timeout`, or at once if an ended process holds
  /// the lock for writing. Parameters and errors are those of `ArrayLock`.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool ahead_of_writers);
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout);
  void unlock_shared() noexcept;
  void unlock_exclusive() noexcept;

  // Elsewhere: by another array object, in any process.
  [[nodiscard]] bool is_written_elsewhere() const noexcept;
  [[nodiscard]] bool is_used_elsewhere() const noexcept;
  /// Returns the writer's lock id, or −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  /// Describes other holders or a waiting writer; empty if there are none.
  [[nodiscard]] std::string holder() const;

  [[nodiscard]] Exports exports() const noexcept { return _slot.exports(); }

  /// Releases and returns the holds of ended processes.
  std::vector<Death> recover();

 private:
  Segment(std::span<std::byte> memory, SegmentLayout const& layout, KeepAliveGuard& keep_alive, std::string name);
  ~Segment() = default;

  template <class Try>
  bool wait(Timeout timeout, Try const& attempt);
  bool try_shared(bool ahead_of_writers) noexcept;
  bool try_exclusive(std::int64_t id);
  bool claim() noexcept;
  [[nodiscard]] std::uint64_t claim_after(std::uint64_t word) const noexcept;
  void set_word(std::uint64_t state) noexcept;
  void wake() noexcept;
  [[nodiscard]] bool writer_waits() noexcept;
  [[nodiscard]] bool is_dead(std::uint64_t word) const noexcept;
  [[nodiscard]] bool is_held_here(std::uint64_t word) const noexcept;

  SegmentHeader& _header;
  KeepAliveGuard _mapping;  // destroyed after `_slot`, which uses it
  SegmentSlotRef _slot;
  std::uint64_t _uid;
};

}  // namespace memarray::detail
