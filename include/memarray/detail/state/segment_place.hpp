#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/segment_layout.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

/// One array object's place among the users of a segment: its slot, what it counts there, and the places of the others.
///
/// A forked child's copy takes a slot of its own when it is first used, with the exports that the child inherited;
/// holds that were taken before are the parent's, in the parent's slot.
class MEMARRAY_API SegmentPlace {
 public:
  using Exports = Block::Exports;

  /// The low bits of the lock word, which number the slot of whoever has it; 0: nobody.
  static constexpr int number_bits = 24;
  [[nodiscard]] static constexpr std::uint64_t number_in(std::uint64_t word) noexcept {
    return word & ((std::uint64_t{1} << number_bits) - 1);
  }

  /// `name` is for reports. It has no slot before `settle`.
  SegmentPlace(SegmentHeader& header, std::string name) noexcept;
  ~SegmentPlace();
  SegmentPlace(SegmentPlace const&) = delete;
  SegmentPlace& operator=(SegmentPlace const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return _name; }
  [[nodiscard]] bool is_settled() const noexcept;
  /// Takes a slot, unless this process has one. False if there is none.
  bool settle() noexcept;
  /// The same; throws `Error`.
  void check_settled();

  /// Once settled.
  [[nodiscard]] SegmentSlot& mine() const noexcept { return _header.slot[_slot]; }
  [[nodiscard]] std::uint32_t number() const noexcept { return _slot + 1; }
  [[nodiscard]] bool is_mine(SegmentSlot const* slot) const noexcept { return is_settled() && slot == &mine(); }
  /// The slot of that number; null if there is none.
  [[nodiscard]] SegmentSlot* numbered(std::uint64_t number) const noexcept;
  /// All that were ever used.
  [[nodiscard]] std::span<SegmentSlot> slots() const noexcept;
  /// Whether anybody who lives reads; `others`: but for this place.
  [[nodiscard]] bool anybody_reads(bool others) const noexcept;

  /// A read hold, which `begin_reading` counts in the slot at once and `keep_reading` makes one of this object's.
  void begin_reading() noexcept { mine().readers.fetch_add(1); }
  void keep_reading() noexcept { _local_readers.fetch_add(1); }
  void give_up_reading() noexcept { mine().readers.fetch_sub(1); }
  /// False if it was a parent's.
  bool end_reading() noexcept;

  /// Throws `Error` where a forked child finds no slot.
  void count_export(bool writable);
  void uncount_export(bool writable) noexcept;
  /// Exports of all living processes.
  [[nodiscard]] Exports exports() const noexcept;

  /// Clears the slots of the dead but the one of number `except`, adds what they held to `deaths`, and reports it.
  void clear_dead(std::uint64_t except, std::vector<Death>& deaths);

 private:
  [[nodiscard]] bool take_slot() noexcept;
  bool make_room() noexcept;

  SegmentHeader& _header;
  std::string _name;
  std::uint32_t _slot = 0;
  std::atomic<std::uint32_t> _generation;  // of the process that the slot belongs to
  ForkLock _settling;
  // What a child starts from: what this object holds in this process, and how many read holds a parent took.
  std::atomic<std::uint64_t> _local_exports{0};
  std::atomic<std::int64_t> _local_readers{0};
  std::atomic<std::int64_t> _inherited_readers{0};
};

/// Tells of each, as "process 12 died while it held the array in shared memory 'name' …".
MEMARRAY_API void report_deaths(std::span<Death const> deaths, std::string const& name);

}  // namespace memarray::detail
