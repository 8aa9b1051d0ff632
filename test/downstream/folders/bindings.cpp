// By pybind11 or by nanobind.
#if defined(NANOBIND)
#include <memarray/python/nanobind.hpp>
#define MODULE NB_MODULE
#else
#include <memarray/python/memarray.hpp>
#define MODULE PYBIND11_MODULE
#endif

MODULE(NAME, module) {
  memarray::bind_mem_array<double, 7>(module);
  module.def("size", [](memarray::MemArray<double, 2> const& array) { return array.get_size(); });
}
