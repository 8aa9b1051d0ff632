// The array of `exported_array.hpp`, bound with pybind11's `class_` and `def`.
#include <pybind11/pybind11.h>

#include "exported_array.hpp"

namespace py = pybind11;
using namespace py::literals;

PYBIND11_MODULE(pybind11_peer, m) {
  py::class_<exported::Array>(m, "CapsuleArray")
      .def(py::init<std::int64_t>())
      .def("__enter__",
           [](py::object const& self) {
             self.cast<exported::Array&>().enter();
             return self;
           })
      .def("__exit__", [](exported::Array& self, py::handle, py::handle, py::handle) { self.exit(); })
      .def("__dlpack_device__", [](exported::Array const&) { return py::make_tuple(1, 0); })
      .def(
          "__dlpack__",
          [](exported::Array const& self, py::handle, py::handle max_version, py::handle, py::handle) {
            return py::reinterpret_steal<py::object>(exported::make_capsule(self, max_version.ptr()));
          },
          py::kw_only(), "stream"_a = py::none(), "max_version"_a = py::none(), "dl_device"_a = py::none(),
          "copy"_a = py::none());
}
