// Arrays of structs with and without fields, for test/python/test_structs.py.

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

#include <cstdint>

namespace structs {

struct Point {
  float x;
  std::int32_t id;
};

struct Opaque {
  float x;
  std::int32_t id;
};

/// Has padding inside and at the end, a nested struct, a sub-array and text.
struct Body {
  char state;
  double position[3];
  Point origin;
  char label[5];
  bool alive;
};

/// NumPy has no bfloat16, and foreign bools may have any byte.
struct Mixed {
  memarray::bfloat16 value;
  bool valid;
};

}  // namespace structs

MEMARRAY_FIELDS(structs::Mixed, value, valid);
MEMARRAY_FIELDS(structs::Point, x, id);
MEMARRAY_FIELDS(structs::Body, state, position, origin, label, alive);
MEMARRAY_DTYPE(structs::Opaque);

PYBIND11_MODULE(structs, module) {
  memarray::bind_mem_array<structs::Point, 1>(module);
  memarray::bind_mem_array<structs::Point, 2>(module);
  memarray::bind_mem_array<structs::Body, 1>(module);
  memarray::bind_mem_array<structs::Opaque, 1>(module);
  memarray::bind_mem_array<structs::Mixed, 1>(module);
  module.def("count_valid", [](memarray::ArrayView<structs::Mixed const, 1> const& elements) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < elements.extent(0); ++i) count += elements(i).valid;
    return count;
  });
  module.def("sum_of_ids", [](memarray::ArrayView<structs::Point const, 1> const& points) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < points.extent(0); ++i) sum += points(i).id;
    return sum;
  });
}
