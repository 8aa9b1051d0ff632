#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "session.hpp"

namespace memarray::simulated {

/// The memory of a copy: part of an allocation, or pageable.
struct MemoryRange {
  std::byte* bytes = nullptr;
  std::uintptr_t address = 0;
  std::shared_ptr<Allocation> allocation;

  [[nodiscard]] bool is_pageable() const noexcept { return allocation == nullptr; }
};

/// A scope in which stream work uses allocations. Freed or not yet allocated memory is a violation.
class Use {
 public:
  /// `ranges` must outlive the object.
  Use(Session& session, char const* what, std::vector<MemoryRange> const& ranges);
  ~Use();
  Use(Use const&) = delete;
  Use& operator=(Use const&) = delete;

 private:
  Session& _session;
  std::vector<MemoryRange> const& _ranges;
};

}  // namespace memarray::simulated
