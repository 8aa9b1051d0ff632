#include "plate.hpp"

#include <memarray/python/memarray.hpp>

#include <cstdint>

namespace py = pybind11;
using heat::Plate;

namespace {

// Runs steps. Other Python threads run while MPI waits for the neighbours.
void step(Plate& plate, std::int64_t count) {
  memarray::RuntimeRelease release;
  for (std::int64_t i = 0; i < count; ++i) {
    plate.step();
    release.poll_signals();
  }
}

}  // namespace

PYBIND11_MODULE(heat, module) {
  memarray::python::initialize();
  module.doc() = "Heat on a plate whose rows are split over the ranks of an MPI communicator.";

  py::class_<Plate>(module, "Plate", py::module_local(), "The rows of a plate that are this rank's.")
      .def(py::init([](std::int64_t rows, std::int64_t columns, double rate, std::int64_t comm) {
             return Plate(rows, columns, rate, MPI_Comm_f2c(static_cast<MPI_Fint>(comm)));
           }),
           py::arg("rows"), py::arg("columns"), py::kw_only(), py::arg("rate") = 0.2, py::arg("comm"),
           "comm: the result of comm.py2f(); the communicator outlives the plate.")
      .def("step", step, py::arg("count") = 1, "Exchange rows and compute, `count` times; all ranks call it.")
      .def("sweep_interior", &Plate::sweep_interior, "Compute the changes that need no neighbour's row.")
      .def("sweep_border", &Plate::sweep_border,
           "Compute the changes of the first and last row from `above` and `below`, and change `field`.")
      .def_readonly("field", &Plate::field, "(own rows, columns) float64")
      .def_property_readonly(
          "above", [](Plate& plate) -> auto& { return plate.halo.above; }, "(columns,) float64, the neighbour's")
      .def_property_readonly(
          "below", [](Plate& plate) -> auto& { return plate.halo.below; }, "(columns,) float64, the neighbour's")
      .def_property_readonly("first_row", &Plate::first_row, "index of the rank's first row");
}
