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
  explicit Cloud(std::int64_t count) : _tracers({count}), _field({count, 2}) { number(); }

  void drift(double dx);
  void renew() { _field = memarray::MemArray<double, 2>(_field.get_shape()); }
  /// Tracer i is at (i, −i), with the id 10 + i.
  void number() {
    for (std::int64_t i = 0; i < _tracers.get_size(); ++i) {
      auto const x = static_cast<float>(i);
      _tracers.write({i}, {x, -x, static_cast<std::int32_t>(10 + i)});
    }
  }
  [[nodiscard]] std::int64_t sum_of_ids() const {
    memarray::ReadLease const lease(_tracers);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < _tracers.get_size(); ++i) sum += lease.ptr()[i].id;
    return sum;
  }
  [[nodiscard]] memarray::MemArray<double, 2> take() { return std::move(_field); }

  memarray::MemArray<Tracer, 1> _tracers;
  memarray::MemArray<double, 2> _field;
};

}  // namespace tracers

MEMARRAY_DTYPE(tracers::Tracer);
