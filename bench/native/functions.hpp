#pragma once

// What the functions of the modules do, whichever library binds them and whatever carries the memory.

#include <cstdint>
#include <memory>

namespace functions {

/// Something of every argument, so that none is left out.
inline double ends(float const* data, std::int64_t size) { return size > 0 ? data[0] + data[size - 1] : 0; }

constexpr std::int64_t returned_size = 1000;

/// The least that can own what is returned.
struct Owner {
  std::unique_ptr<float[]> memory{new float[returned_size]()};
};

}  // namespace functions
