#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "site.hpp"

/// Tables of simulated device memory that a signal handler reads without a lock or an allocation.
namespace memarray::simulated {

/// Returns the next number in the order of violations, over all sessions.
[[nodiscard]] std::uint64_t next_in_order() noexcept;

/// The log of host accesses to a session's device memory.
class TouchLog {
 public:
  /// Adds a record. Called by the signal handler.
  void add(char const* words) noexcept;
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::string>> touches() const;

 private:
  struct Touch {
    std::atomic<std::uint64_t> order{0};  // written last
    char words[320] = {};
  };

  std::array<Touch, 16> _touches;
  std::atomic<std::size_t> _count{0};
};

/// The allocations in one device's memory.
class AllocationTable {
 public:
  /// Creates a table for at most `capacity` allocations at a time. Throws `std::system_error`.
  explicit AllocationTable(std::size_t capacity);
  ~AllocationTable();
  AllocationTable(AllocationTable const&) = delete;
  AllocationTable& operator=(AllocationTable const&) = delete;

  /// Returns the number for `remove`. Callers hold the session's lock.
  std::size_t add(std::uintptr_t begin, std::size_t bytes, char const* site);
  void remove(std::size_t number);

  struct Record {
    std::atomic<std::uintptr_t> begin;  // 0: unused or removed
    std::size_t bytes;
    char site[site_capacity];
  };
  /// Returns the allocation that contains the address, or null. Called by the signal handler.
  [[nodiscard]] Record const* find(std::uintptr_t address) const noexcept;

 private:
  std::size_t const _capacity;
  Record* const _records;
  std::atomic<std::size_t> _used{0};
  std::vector<std::size_t> _removed;
};

/// A device's memory: programs see `begin` to `end`; its accessible mapping starts at `reach`.
struct GuardedRange {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::byte* reach;
  int device;
  std::uint32_t session;
  bool go_on;  // continue after a host access
  AllocationTable const* allocations;
  TouchLog* log;
};

/// Treats faults in the range as host accesses from now on. Returns the number for `unguard`. Throws
/// `std::system_error` if the table is full or no handler can be installed.
std::size_t guard(GuardedRange const& range);
void unguard(std::size_t number) noexcept;
/// Returns the range that contains the address, or null. Lock-free.
[[nodiscard]] GuardedRange const* find_guarded(std::uintptr_t address) noexcept;

}  // namespace memarray::simulated
