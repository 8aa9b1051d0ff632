#include <memarray/python/memarray.hpp>

PYBIND11_MODULE(tide, module) {
  module.def("levels", [](std::int64_t hours) {
    memarray::MemArray<double, 1> levels({hours});
    levels.fill(0.5);
    return levels;
  });
}
