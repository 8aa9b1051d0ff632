#include "forms.hpp"
#include "plate.hpp"

#include <memarray/python/memarray.hpp>

#include <pybind11/complex.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using heat::Plate;

namespace {

struct Double {
  void operator()(double& element, cuda::std::array<std::int64_t, 2> const&) const { element *= 2; }
};

}  // namespace

PYBIND11_MODULE(heat, module) {
  module.def("total_of_sums", &heat::total_of_sums);
  module.def("use_each_form", &heat::use_each_form);
  module.def("use_forms_of_planes", &heat::use_forms_of_planes);
  module.def("use_forms_of_volumes", &heat::use_forms_of_volumes);
  py::class_<Plate>(module, "Plate")
      .def(py::init<std::int64_t, std::int64_t>())
      .def("move", &Plate::move)
      .def("spread", &Plate::spread)
      .def("count_above", &Plate::count_above)
      .def("cool", &Plate::cool)
      .def("heat", &Plate::heat)
      .def("total", &Plate::total)
      .def("is_compiled_by_nvcc", &Plate::is_compiled_by_nvcc)
      // A kernel in a file that the C++ compiler makes: for the host, and for simulated devices.
      .def("double",
           [](Plate& plate) { memarray::for_each_index(plate.temperature, memarray::default_stream(), Double()); })
      .def_readonly("temperature", &Plate::temperature)
      .def_readonly("lost", &Plate::lost)
      .def_readonly("counts", &Plate::counts);
}
