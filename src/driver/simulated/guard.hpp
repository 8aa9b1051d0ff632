#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "site.hpp"

/// What a signal handler can know of simulated device memory: tables that it reads without a lock or an allocation.
namespace memarray::simulated {

/// The next number in the order in which violations happen, of all sessions.
[[nodiscard]] std::uint64_t next_in_order() noexcept;

/// The host's touches of a session's device memory.
class TouchLog {
 public:
  /// By the signal handler.
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
  /// For at most this many at a time. Throws `std::system_error`.
  explicit AllocationTable(std::size_t capacity);
  ~AllocationTable();
  AllocationTable(AllocationTable const&) = delete;
  AllocationTable& operator=(AllocationTable const&) = delete;

  /// The number to remove it by. Callers hold the session's lock.
  std::size_t add(std::uintptr_t begin, std::size_t bytes, char const* site);
  void remove(std::size_t number);

  struct Record {
    std::atomic<std::uintptr_t> begin;  // 0: none, or no longer
    std::size_t bytes;
    char site[site_capacity];
  };
  /// By the signal handler; null if the address is in none.
  [[nodiscard]] Record const* find(std::uintptr_t address) const noexcept;

 private:
  std::size_t const _capacity;
  Record* const _records;
  std::atomic<std::size_t> _used{0};
  std::vector<std::size_t> _removed;
};

/// A device's memory: programs see `begin` to `end`, and what they see there lies at `reach`.
struct GuardedRange {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::byte* reach;
  int device;
  std::uint32_t session;
  bool go_on;  // after a touch
  AllocationTable const* allocations;
  TouchLog* log;
};

/// From then on a fault in the range is a touch by the host. The number to `unguard` by. Throws `std::system_error`
/// if there is no room for more, or no handler can be installed.
std::size_t guard(GuardedRange const& range);
void unguard(std::size_t number) noexcept;
/// The range that holds the address, or null. Lock-free.
[[nodiscard]] GuardedRange const* find_guarded(std::uintptr_t address) noexcept;

}  // namespace memarray::simulated
