#pragma once

#include <memarray/memarray.hpp>

#include <cstdint>

#include "bandwidth.hpp"

struct Arrays {
  memarray::MemArray<double, 1> a, b, c;
  memarray::StreamHandle stream = memarray::default_stream();

  explicit Arrays(std::int64_t elements) : a({elements}), b({elements}), c({elements}) {}
};
