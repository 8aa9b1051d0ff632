#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace memarray::simulated {

struct Pool;

struct FreeHostBytes {
  void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
};

/// Memory that a program got. Work that uses it keeps it, so that bytes on the host outlive the work.
struct Allocation {
  enum class Kind { device, managed, pinned };

  Kind kind = Kind::device;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::size_t reserved = 0;  // bytes, rounded up
  int device = 0;
  cu::Context context = nullptr;  // which takes it along when it ends; null: of a pool
  std::shared_ptr<Pool> pool;     // null: not stream-ordered
  std::string site;
  std::size_t number = 0;                             // in the arena's table
  std::unique_ptr<std::byte, FreeHostBytes> on_host;  // managed or pinned

  // Under the session's lock.
  bool is_ready = true;  // its stream has come to where it was allocated
  bool is_freed = false;
  int in_use = 0;  // copies and kernels at it now
};

}  // namespace memarray::simulated
