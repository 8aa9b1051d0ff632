#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "site.hpp"

/// Tables of device memory that a signal handler reads without locking or allocating.
namespace memarray::simulated {

/// Numbers violations across all sessions.
[[nodiscard]] std::uint64_t next_in_order() noexcept;

/// A session's first 16 host accesses to device memory, as texts with violation numbers.
class TouchLog {
 public:
  /// Called by the signal handler.
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

class AllocationTable {
 public:
  /// Reserves room for `capacity` allocations, which `add` does not check. Throws `std::system_error`.
  explicit AllocationTable(std::size_t capacity);
  ~AllocationTable();
  AllocationTable(AllocationTable const&) = delete;
  AllocationTable& operator=(AllocationTable const&) = delete;

  /// Called under the session's lock. Returns the number for `remove`.
  std::size_t add(std::uintptr_t begin, std::size_t bytes, char const* site);
  void remove(std::size_t number);

  struct Record {
    std::atomic<std::uintptr_t> begin;  // 0: unused or removed
    std::size_t bytes;
    char site[site_capacity];  // may be empty
  };
  [[nodiscard]] Record const* find(std::uintptr_t address) const noexcept;

 private:
  std::size_t const _capacity;
  Record* const _records;
  std::atomic<std::size_t> _used{0};
  std::vector<std::size_t> _removed;
};

/// A device's memory: without access at `begin`, for programs; with access at `reach`.
struct GuardedRange {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::byte* reach;
  int device;
  std::uint32_t session;
  bool go_on;  // at a host access, open the range and continue
  AllocationTable const* allocations;
  TouchLog* log;
};

/// Reports faults in the range as host accesses. Returns the number for `unguard`. Throws `std::system_error`.
std::size_t guard(GuardedRange const& range);
void unguard(std::size_t number) noexcept;
[[nodiscard]] GuardedRange const* find_guarded(std::uintptr_t address) noexcept;

}  // namespace memarray::simulated
