#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/segment_layout.hpp>
#include <memarray/detail/state/segment_place.hpp>
#include <memarray/state/timeout.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

/// One process's attachment to an array in shared memory: the lock and the export counts that all processes share.
///
/// Threads of one process are kept apart by the array's own lock word, which is taken first. A reader counts itself in
/// its slot and then looks at the lock word; a writer claims the word and then looks at all slots: at least one sees
/// the other. Every fact is one atomic number whose owner is known from it, so whatever a process was doing when it was
/// killed, the others know what it held. All are sequentially consistent.
class MEMARRAY_API Segment final : private ExportTally {
 public:
  using Exports = Block::Exports;

  /// `memory` has been looked at by `read_segment`, and `keeper` keeps it; it is taken over, also when this throws.
  /// `name`: what others find it by, or empty. Throws `Error` when no place is left, `std::bad_alloc`. The block that
  /// is returned keeps the segment.
  struct Attached {
    BlockPtr block;
    Segment* segment;
  };
  [[nodiscard]] static Attached attach(std::span<std::byte> memory, SegmentLayout const& layout, Block::Keeper keeper,
                                       std::string name);

  [[nodiscard]] std::string const& name() const noexcept { return _place.name(); }
  [[nodiscard]] std::uint64_t uid() const noexcept { return _uid; }

  /// True when taken; false when the time was up, or at once when the holder is dead and held it for writing. Throws
  /// `Interrupted`; `Error` in a forked child for which there is no place. The caller holds the array's own lock word
  /// likewise.
  [[nodiscard]] bool lock_shared(Timeout timeout, bool past_writers);
  [[nodiscard]] bool lock_exclusive(std::int64_t id, Timeout timeout);
  void unlock_shared() noexcept;
  void unlock_exclusive() noexcept;
  void unlock(bool exclusive) noexcept { exclusive ? unlock_exclusive() : unlock_shared(); }

  /// What an access meets that only looks: whether another attachment holds the array for writing, or at all.
  [[nodiscard]] bool is_written_elsewhere() const noexcept;
  [[nodiscard]] bool is_used_elsewhere() const noexcept;
  /// The id that somebody holds it for writing under, or −1.
  [[nodiscard]] std::int64_t lock_id() const noexcept;
  /// Who holds it, in words; empty if nobody does.
  [[nodiscard]] std::string holder() const;

  /// Exports of all living processes.
  [[nodiscard]] Exports exports() const noexcept { return _place.exports(); }

  /// Gives back what dead processes held. Their write hold is the array's no more, whose contents may be half written.
  std::vector<Death> recover();

 private:
  Segment(std::span<std::byte> memory, SegmentLayout const& layout, KeeperGuard& keeper, std::string name);
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
  KeeperGuard _mapping;  // given up last, when there is nothing in it any more
  SegmentPlace _place;
  std::uint64_t _uid;
};

}  // namespace memarray::detail
