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

/// An allocation, shared with the work that uses it.
struct Allocation {
  enum class Kind { device, managed, pinned };

  Kind kind = Kind::device;
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::size_t reserved = 0;  // bytes, rounded up
  int device = 0;
  cu::Context context = nullptr;  // its destruction frees the memory; null: pool memory
  std::shared_ptr<Pool> pool;     // null: not stream-ordered
  std::string site;
  std::size_t number = 0;                             // in the arena's table
  std::unique_ptr<std::byte, FreeHostBytes> on_host;  // managed or pinned

  // Guarded by the session's lock.
  bool is_ready = true;  // false until a stream-ordered allocation has run
  bool is_freed = false;
  int in_use = 0;  // running copies and fills
};

}  // namespace memarray::simulated
