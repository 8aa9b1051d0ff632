#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/segment_layout.hpp>
#include <memarray/detail/state/segment_slot.hpp>
#include <memarray/state/timeout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

/// An attachment of one array object to shared memory: the lock and export counts that all processes share.
///
/// The array's own lock word, acquired first, excludes threads of one process. A reader counts itself in its slot and
/// then reads the shared lock word; a writer claims that word and then reads all slots. At least one of them sees the
/// other. Every fact is one atomic number that identifies its owner, so the holds of a killed process are always known.
/// All accesses are sequentially consistent.
class MEMARRAY_API Segment final : private ExportTally {
 public:
  using Exports = Block::Exports;

  /// A new segment and the block over its elements, which keeps the segment alive.
  struct Attached {
    BlockPtr block;
    Segment* segment;
  };
  /// Attaches to `memory`, which `read_segment` has checked and `keep_alive` keeps alive. Takes ownership of
  /// `keep_alive`, also when it throws. `name`: how others find the memory, or empty. Throws `Error` if no slot is
  /// free, `std::bad_alloc`.
  [[nodiscard]] static Attached attach(std::span<std::byte> memory, SegmentLayout const& layout,
                                       Block::KeepAlive keep_alive, std::string name);

  [[nodiscard]] std::string const& name() const noexcept { return _place.name(); }
  [[nodiscard]] std::uint64_t uid() const noexcept { return _uid; }

  /// Return true when acquired; false when the time was up, or at once if the holder for writing is a process that has
  /// ended. The caller holds the array's own lock word in the same mode. Throw `Interrupted`; `Error` if a forked child
  /// finds no free slot.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool past_writers);
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout);
  void unlock_shared() noexcept;
  void unlock_exclusive() noexcept;

  /// For an access that only checks: true if another attachment holds the array for writing, or at all.
  [[nodiscard]] bool is_written_elsewhere() const noexcept;
  [[nodiscard]] bool is_used_elsewhere() const noexcept;
  /// Returns the id that the array is held for writing under, or −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  /// Describes the holders for messages; empty if there are none.
  [[nodiscard]] std::string holder() const;

  /// Returns the exports of all living processes.
  [[nodiscard]] Exports exports() const noexcept { return _place.exports(); }

  /// Releases what ended processes held, and returns a list of it. After a write hold the contents may be half written.
  std::vector<Death> recover();

 private:
  Segment(std::span<std::byte> memory, SegmentLayout const& layout, KeepAliveGuard& keep_alive, std::string name);
  ~Segment() = default;

  template <class Try>
  bool wait(Timeout timeout, Try const& attempt);
  bool try_shared(bool past_writers) noexcept;
  bool try_exclusive(std::int64_t id);
  bool claim() noexcept;
  [[nodiscard]] std::uint64_t claim_after(std::uint64_t word) const noexcept;
  void set_word(std::uint64_t state) noexcept;
  void wake() noexcept;
  [[nodiscard]] bool writer_waits() noexcept;
  [[nodiscard]] bool is_dead(std::uint64_t word) const noexcept;
  [[nodiscard]] bool is_held_here(std::uint64_t word) const noexcept;

  SegmentHeader& _header;
  KeepAliveGuard _mapping;  // destroyed after all that lies in it
  SegmentSlotRef _place;
  std::uint64_t _uid;
};

}  // namespace memarray::detail
