#include "tracers.hpp"

#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

namespace py = pybind11;

PYBIND11_MODULE(tracers, module) {
  memarray::bind_mem_array<tracers::Tracer, 1>(module);
  memarray::bind_mem_array<double, 7>(module);
  py::class_<tracers::Cloud>(module, "Cloud")
      .def(py::init<std::int64_t>())
      .def("drift", &tracers::Cloud::drift)
      .def("renew", &tracers::Cloud::renew)
      .def("take", &tracers::Cloud::take)
      .def_readonly("field", &tracers::Cloud::_field)
      .def_readonly("tracers", &tracers::Cloud::_tracers);
  module.def("total", [](memarray::MemArray<double, 2> const& array) {
    return memarray::sum(array, memarray::default_stream());
  });
}
