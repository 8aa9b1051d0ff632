#pragma once

#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "allocation.hpp"
#include "arena.hpp"
#include "pool.hpp"

namespace memarray::simulated {

/// A session's device memory and allocations, guarded by the session's lock.
class Memory {
 public:
  /// Throws `std::system_error`.
  Memory(testing::SimulatedOptions const& options, std::uint32_t session, TouchLog& log);
  ~Memory();

  [[nodiscard]] Arena& arena(int device) noexcept { return *_arenas[static_cast<std::size_t>(device)]; }
  [[nodiscard]] Arena* arena_of(std::uintptr_t address) noexcept;
  [[nodiscard]] std::shared_ptr<Pool> const& default_pool(int device) noexcept {
    return _default_pools[static_cast<std::size_t>(device)];
  }

  void add(std::shared_ptr<Allocation> const& allocation);
  /// Later calls treat it as freed; its range stays reserved.
  void remove(Allocation const& allocation);
  [[nodiscard]] std::shared_ptr<Allocation> find(std::uintptr_t address) const;
  [[nodiscard]] auto const& all() const noexcept { return _allocations; }
  [[nodiscard]] std::byte* reach(Allocation const& allocation, std::uintptr_t address) noexcept;
  [[nodiscard]] std::string describe(std::uintptr_t address) const;
  [[nodiscard]] bool was_freed(std::uintptr_t address) const { return _freed.contains(address); }

  void give_back() noexcept { _arenas.clear(); }

 private:
  struct Freed {
    std::size_t bytes;
    std::string site;
  };

  std::uint32_t const _session;
  std::vector<std::unique_ptr<Arena>> _arenas;
  std::vector<std::shared_ptr<Pool>> _default_pools;
  std::map<std::uintptr_t, std::shared_ptr<Allocation>> _allocations;
  std::map<std::uintptr_t, Freed> _freed;
};

}  // namespace memarray::simulated
