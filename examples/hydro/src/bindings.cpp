#include "simulation.hpp"

#include <memarray/python/memarray.hpp>

#include <cstdint>

namespace py = pybind11;
using hydro::Border;
using hydro::Simulation;

namespace {

// Runs steps. Other Python threads run meanwhile: if one of them holds a lease, the next step throws `LockError`
// instead of racing.
void step(Simulation& simulation, std::int64_t count) {
  memarray::RuntimeRelease release;
  for (std::int64_t i = 0; i < count; ++i) {
    simulation.step();
    release.poll_signals();
  }
}

void run_until(Simulation& simulation, double end) {
  memarray::RuntimeRelease release;
  while (simulation.time() < end) {
    simulation.step(end);
    release.poll_signals();
  }
}

py::dict total(Simulation const& simulation) {
  hydro::Conserved const total = simulation.total();
  return py::dict(py::arg("mass") = total.density, py::arg("momentum_x") = total.along,
                  py::arg("momentum_y") = total.across, py::arg("energy") = total.energy);
}

}  // namespace

PYBIND11_MODULE(hydro, module, py::mod_gil_not_used()) {
  memarray::python::initialize();
  module.doc() = "A gas in a box: the Euler equations in two dimensions, on arrays that Python borrows.";
  module.attr("GAMMA") = hydro::gamma;

  py::class_<Simulation>(module, "Simulation", py::module_local(), "A gas in a box of square cells.")
      .def(py::init([](std::int64_t rows, std::int64_t columns, double width, bool periodic) {
             return Simulation(rows, columns, width, periodic ? Border::periodic : Border::closed);
           }),
           py::arg("rows"), py::arg("columns"), py::kw_only(), py::arg("width"), py::arg("periodic") = false,
           "width: width of a cell. The gas is at rest, with density and pressure 1.")
      .def("step", step, py::arg("count") = 1, "Run `count` steps, each as long as is stable.")
      .def("run_until", run_until, py::arg("time"), "Run steps up to a time.")
      .def("move_to", &Simulation::move_to, py::arg("device_id"),
           "Move the memory to a CUDA device; below zero, to the host.")
      .def("total", total, "Return mass, momentum and energy in the box.")
      .def_readonly("cells", &Simulation::cells,
                    "(rows, columns, 4) float64: density, momentum in x and y, energy; per volume")
      .def_property_readonly("time", &Simulation::time);
}
