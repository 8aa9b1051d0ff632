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

/// The slot of one array object. A forked child's copy takes its own at first use, with the inherited exports;
/// inherited holds stay in the parent's.
class MEMARRAY_API SegmentSlotRef {
 public:
  using Exports = Block::Exports;

  /// Low bits of the lock word: the holder's slot number, or 0.
  static constexpr int number_bits = 24;
  [[nodiscard]] static constexpr std::uint64_t number_in(std::uint64_t word) noexcept {
    return word & ((std::uint64_t{1} << number_bits) - 1);
  }

  SegmentSlotRef(SegmentHeader& header, std::string name) noexcept;
  ~SegmentSlotRef();
  SegmentSlotRef(SegmentSlotRef const&) = delete;
  SegmentSlotRef& operator=(SegmentSlotRef const&) = delete;

  [[nodiscard]] std::string const& name() const noexcept { return _name; }
  [[nodiscard]] bool is_settled() const noexcept;
  /// Takes a slot, unless this process has one. False if none is free.
  bool settle() noexcept;
  /// Like `settle`, but throws `Error`.
  void check_settled();

  /// Require a settled object.
  [[nodiscard]] SegmentSlot& mine() const noexcept { return _header.slot[_slot]; }
  [[nodiscard]] std::uint32_t number() const noexcept { return _slot + 1; }
  [[nodiscard]] bool is_mine(SegmentSlot const* slot) const noexcept { return is_settled() && slot == &mine(); }
  /// Returns null if there is none.
  [[nodiscard]] SegmentSlot* numbered(std::uint64_t number) const noexcept;
  /// Returns all slots ever used.
  [[nodiscard]] std::span<SegmentSlot> slots() const noexcept;
  /// True if a living process reads; `others`: through another slot.
  [[nodiscard]] bool has_reader(bool others) const noexcept;

  void begin_reading() noexcept { mine().readers.fetch_add(1); }
  void end_reading() noexcept { mine().readers.fetch_sub(1); }

  /// Throws like `check_settled`.
  void count_export(bool writable);
  void uncount_export(bool writable) noexcept;
  /// Returns the exports of all living processes.
  [[nodiscard]] Exports exports() const noexcept;

  /// Clears and reports the slots of ended processes, except number `except`; adds their holds to `deaths`.
  void clear_dead(std::uint64_t except, std::vector<Death>& deaths);

 private:
  [[nodiscard]] bool take_slot() noexcept;
  bool make_room() noexcept;

  SegmentHeader& _header;
  std::string _name;
  std::uint32_t _slot = 0;
  std::atomic<std::uint32_t> _generation;  // of the process that owns the slot
  ForkLock _settling;
  std::atomic<std::uint64_t> _local_exports{0};  // a forked child's slot starts with them
};

MEMARRAY_API void report_deaths(std::span<Death const> deaths, std::string const& name);

}  // namespace memarray::detail
