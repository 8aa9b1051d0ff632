#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session.hpp"

namespace memarray::simulated {

/// The memory of a copy: part of an allocation, or pageable.
struct Place {
  std::byte* bytes = nullptr;
  std::uintptr_t address = 0;
  std::shared_ptr<Allocation> allocation;  // null: pageable

  [[nodiscard]] bool is_pageable() const noexcept { return allocation == nullptr; }
};

/// A scope in which stream work uses allocations. Memory that is freed, or not yet allocated in stream order, is a
/// violation.
class Use {
 public:
  /// `what` and `places` must outlive the object.
  Use(Session& session, char const* what, std::vector<Place> const& places);
  ~Use();
  Use(Use const&) = delete;
  Use& operator=(Use const&) = delete;

 private:
  Session& _session;
  std::vector<Place> const& _places;
};

}  // namespace memarray::simulated
