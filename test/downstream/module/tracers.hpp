#pragma once

#include <memarray/memarray.hpp>

#include <cstdint>

namespace tracers {

struct Tracer {
  float x, y;
  std::int32_t id;
};

/// Owns its tracers; Python sees them as members.
class Cloud {
 public:
  explicit Cloud(std::int64_t count) : _tracers({count}), _field({count, 2}) {}

  void drift(double dx);
  void renew() { _field = memarray::MemArray<double, 2>(_field.get_shape()); }
  [[nodiscard]] memarray::MemArray<double, 2> take() { return std::move(_field); }

  memarray::MemArray<Tracer, 1> _tracers;
  memarray::MemArray<double, 2> _field;
};

}  // namespace tracers

MEMARRAY_DTYPE(tracers::Tracer);
