#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session.hpp"

namespace memarray::simulated {

/// What a copy reads or writes: a part of an allocation, or pageable memory of the program.
struct Place {
  std::byte* bytes = nullptr;
  std::uintptr_t address = 0;
  std::shared_ptr<Allocation> allocation;  // null: pageable

  [[nodiscard]] bool is_pageable() const noexcept { return allocation == nullptr; }
};

/// While it lives, work on a stream uses allocations. Memory that was freed, or is not there yet in the order of
/// streams, is a violation when the use begins; that it is freed while the use lasts is seen by who frees.
class Use {
 public:
  /// `what` must outlive it.
  Use(Session& session, char const* what, std::vector<Place> const& places);
  ~Use();
  Use(Use const&) = delete;
  Use& operator=(Use const&) = delete;

 private:
  Session& _session;
  std::vector<Place> const& _places;
};

}  // namespace memarray::simulated
