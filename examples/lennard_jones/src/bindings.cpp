#include "simulation.hpp"

#include <memarray/python/memarray.hpp>

#include <cstdint>

namespace py = pybind11;
using lennard_jones::Options;
using lennard_jones::Simulation;

namespace {

// Runs steps. Other Python threads run meanwhile: if one of them holds a lease, the next kernel throws `LockError`
// instead of racing.
void step(Simulation& simulation, std::int64_t count) {
  memarray::RuntimeRelease release;
  simulation.step(count < 0 ? count : 0);
  for (std::int64_t i = 0; i < count; ++i) {
    simulation.step(1);
    release.poll_signals();
  }
}

void move_memory(Simulation& simulation, int device_type, int device_id) {
  simulation.move_memory(static_cast<DLDeviceType>(device_type), device_id);
}

/// Returns the address of an array's memory on the C++ side.
template <class T, int ndim>
std::uintptr_t address(memarray::MemArray<T, ndim> const& array) {
  return reinterpret_cast<std::uintptr_t>(memarray::ReadLease(array).indexer().get(0));
}

py::dict addresses(Simulation const& simulation) {
  return py::dict(py::arg("positions") = address(simulation.positions),
                  py::arg("velocities") = address(simulation.velocities),
                  py::arg("forces") = address(simulation.forces), py::arg("energies") = address(simulation.energies),
                  py::arg("virials") = address(simulation.virials), py::arg("density") = address(simulation.density));
}

}  // namespace

PYBIND11_MODULE(_lennard_jones, module) {
  memarray::python::initialize();
  module.doc() = "Lennard-Jones molecular dynamics in C++, on arrays that Python borrows.";

  Options const defaults;
  py::class_<Simulation>(module, "Simulation", py::module_local(),
                         "4 * cells**3 particles in a periodic cube, from an FCC crystal; all in reduced units.")
      .def(py::init([](std::int64_t cells, double density, double temperature, double time_step, double cutoff,
                       bool shifted_force, std::uint64_t seed) {
             return Simulation({cells, density, temperature, time_step, cutoff, shifted_force, seed});
           }),
           py::kw_only(), py::arg("cells") = defaults.cells, py::arg("density") = defaults.density,
           py::arg("temperature") = defaults.temperature, py::arg("time_step") = defaults.time_step,
           py::arg("cutoff") = defaults.cutoff, py::arg("shifted_force") = defaults.shifted_force,
           py::arg("seed") = defaults.seed)
      .def("step", step, py::arg("count") = 1, "Run `count` velocity Verlet steps; Ctrl-C ends them between two steps.")
      .def("compute_forces", &Simulation::compute_forces,
           "Bring forces, energies, virials and density up to date after writing into positions.")
      .def("set_temperature", &Simulation::set_temperature, py::arg("temperature"), "Scale the velocities.")
      .def("zero_momentum", &Simulation::zero_momentum, "Bring the centre of mass to rest.")
      .def("temperature", &Simulation::temperature, "Return the kinetic temperature.")
      .def("potential_energy", &Simulation::potential_energy, "Return the sum of `energies`.")
      .def("move_memory", move_memory, py::arg("device_type"), py::arg("device_id") = 0,
           "Move all arrays to a device, where the next steps then run.")
      .def("addresses", addresses, "Return the addresses of the arrays in C++, which equal those that Python sees.")
      .def_readonly("positions", &Simulation::positions, "(n, 3) float64, not wrapped into the box")
      .def_readonly("velocities", &Simulation::velocities, "(n, 3) float64")
      .def_readonly("forces", &Simulation::forces, "(n, 3) float64")
      .def_readonly("energies", &Simulation::energies, "(n,) float64: half of each pair's energy")
      .def_readonly("virials", &Simulation::virials, "(n,) float64: half of each pair's r F(r)")
      .def_readonly("density", &Simulation::density, "(m, m, m) int64: particles in each cell of the cell list")
      .def_property("steps_done", &Simulation::steps_done, &Simulation::set_steps_done)
      .def_property_readonly("particles", &Simulation::particles)
      .def_property_readonly("box", &Simulation::box, "side of the periodic cube")
      .def_property_readonly(
          "options",
          [](Simulation const& self) {
            Options const& options = self.options();
            return py::dict(py::arg("cells") = options.cells, py::arg("density") = options.density,
                            py::arg("temperature") = options.temperature, py::arg("time_step") = options.time_step,
                            py::arg("cutoff") = options.cutoff, py::arg("shifted_force") = options.shifted_force,
                            py::arg("seed") = options.seed);
          },
          "The constructor's arguments, as a dict.");
}
