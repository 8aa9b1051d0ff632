// pybind11's own array as argument and result.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "functions.hpp"

namespace py = pybind11;

PYBIND11_MODULE(pybind11_functions, module) {
  using Array = py::array_t<float, 0>;
  module.def(
      "look", [](Array const& array) { return functions::ends(array.data(), array.size()); }, py::arg().noconvert());
#if !defined(ONE_FUNCTION)
  module.def("make", [] {
    py::array_t<float> array(functions::returned_size);
    std::fill_n(array.mutable_data(), functions::returned_size, 0.0f);
    return array;
  });
  module.def("make_capsule", [] {
    return py::capsule(new float[functions::returned_size](),
                       [](void* memory) { delete[] static_cast<float*>(memory); });
  });
  py::class_<functions::Owner>(module, "Owner");
  module.def("make_owner", [] { return functions::Owner(); });
#endif
}
