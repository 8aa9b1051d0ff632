#include "simulation.hpp"

#include <memarray/python/memarray.hpp>

namespace py = pybind11;
using gray_scott_core::Simulation;

namespace {

// Runs steps. Other Python threads run meanwhile: if one of them holds a lease, the next step throws `LockError`
// instead of racing.
void step(Simulation& simulation, std::int64_t count) {
  memarray::RuntimeRelease release;
  for (std::int64_t i = 0; i < count; ++i) {
    simulation.step();
    release.poll_signals();  // Ctrl-C ends the loop between two steps
  }
}

}  // namespace

PYBIND11_MODULE(_core, module, py::mod_gil_not_used()) {
  memarray::python::initialize();  // translates memarray's C++ exceptions in every function
  py::class_<Simulation>(module, "Simulation", "Two substances that spread over a grid without edges and react.")
      .def(py::init<std::int64_t, std::int64_t, double, double>(), py::arg("rows"), py::arg("columns"),
           py::arg("feed") = 0.037, py::arg("kill") = 0.06)
      .def("step", &step, py::arg("count") = 1, "Advance the simulation by `count` steps.")
      .def("mean_v", &Simulation::mean_v, "Return the mean of v.")
      .def("largest_change", &Simulation::largest_change, "Return the largest change of an element in the last step.")
      .def("move_to", &Simulation::move_to, py::arg("device_id"),
           "Move the memory to a CUDA device; below zero, to the host.")
      .def_readonly("fields", &Simulation::fields, "(2, rows, columns) float64: u and v, the simulation's own memory");
}
