// Kernels of every dtype and rank, for tests against NumPy: test/python/test_kernel*.py.

#include "kernels.hpp"

#include <memarray/base/dtype.hpp>
#include <memarray/python/memarray.hpp>

#include <stdexcept>
#include <string>

namespace py = pybind11;
using kernels::Kernels;

namespace {

Kernels find(std::string const& dtype, int ndim) {
#if KERNELS_OF_EVERY_DTYPE
#define KERNELS_FIND(type, name, code, bits) \
  if (dtype == #name) return kernels::kernels_of<type>(ndim);
  MEMARRAY_FOR_EACH_DTYPE(KERNELS_FIND)
#undef KERNELS_FIND
#else
  if (dtype == "int32") return kernels::kernels_of<std::int32_t>(ndim);
  if (dtype == "float64") return kernels::kernels_of<double>(ndim);
#endif
  throw std::invalid_argument("no dtype " + dtype);
}

/// Exposes a member, which fails where it is null.
template <class Result, class... Parameters>
auto call(Result (*Kernels::*member)(Parameters...)) {
  return [member](Kernels const& self, Parameters... parameters) {
    if (!(self.*member)) throw py::type_error("this dtype has no such operation");
    return (self.*member)(parameters...);
  };
}

}  // namespace

PYBIND11_MODULE(kernels, module) {
  memarray::python::initialize();
  module.attr("every_dtype") = KERNELS_OF_EVERY_DTYPE != 0;
  auto const stream = py::arg("stream") = py::none();
  auto const init = py::arg("init") = py::none();
  py::class_<kernels::Where>(module, "Where")
      .def(py::init<std::optional<kernels::Indices>, kernels::Indices, int, std::int64_t, std::int64_t,
                    memarray::StreamHandle>(),
           py::arg("begin"), py::arg("end"), py::arg("threads") = 0, py::arg("grain") = 0, py::arg("lock_id") = -1,
           stream);
  py::class_<Kernels>(module, "Kernels")
      .def(py::init(&find))
      .def("change", call(&Kernels::change))
      .def("overwrite_rows", call(&Kernels::overwrite_rows))
      .def("hold", call(&Kernels::hold), py::arg("source"), py::arg("target"), py::arg("launches"), py::arg("where"),
           py::arg("result") = py::none())
      .def("bundle", call(&Kernels::bundle))
      .def("transform_reduce", call(&Kernels::transform_reduce))
      .def("transform_reduce_into", call(&Kernels::transform_reduce_into))
      .def("count", call(&Kernels::count))
      .def("reduce", call(&Kernels::reduce), py::arg("array"), py::arg("operation"), py::arg("init"), stream)
      .def("reduce_wide", call(&Kernels::reduce_wide), py::arg("array"), py::arg("init"), stream)
      .def("extremes", call(&Kernels::extremes), py::arg("array"), py::arg("name"), stream)
      .def("position", call(&Kernels::position), py::arg("array"), py::arg("name"), stream)
      .def("dot", call(&Kernels::dot), py::arg("left"), py::arg("right"), stream)
      .def("sum", call(&Kernels::sum), py::arg("array"), stream)
      .def("scan", call(&Kernels::scan), py::arg("array"), py::arg("result"), py::arg("operation"), init, stream)
      .def("scan_wide", call(&Kernels::scan_wide), py::arg("array"), py::arg("result"), init, stream)
      .def("sort_by_key", call(&Kernels::sort_by_key), py::arg("keys"), py::arg("values"), stream);
}
