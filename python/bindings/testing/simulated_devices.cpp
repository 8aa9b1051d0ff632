#include "cuda/handle_types.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <pybind11/stl.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>

namespace py = pybind11;

namespace memarray::python {
namespace {

using testing::SimulatedDevices;

py::dict live(SimulatedDevices const& self) {
  testing::LiveResources const now = self.live();
  py::dict result;
  result["contexts"] = now.contexts;
  result["streams"] = now.streams;
  result["events"] = now.events;
  result["pools"] = now.pools;
  result["device_memory"] = now.device_memory;
  result["managed_memory"] = now.managed_memory;
  result["pinned_memory"] = now.pinned_memory;
  return result;
}

void delay(SimulatedDevices& self, double seconds) {
  if (!(seconds >= 0 && seconds <= 3600)) throw ValueError("delay takes 0 to 3600 seconds");
  self.delay(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
}

/// A deleter for devices whose block was never left. It ends delays first, so that the end of the interpreter does not
/// wait for delayed work.
struct DropWithoutDelay {
  void operator()(SimulatedDevices* devices) const {
    devices->delay({});
    delete devices;
  }
};
using Owner = std::unique_ptr<SimulatedDevices, DropWithoutDelay>;

}  // namespace

void add_simulated_devices(py::module_& m) {
  py::class_<SimulatedDevices, Owner>(m, "SimulatedDevices")
      .def(py::init([](int count, std::size_t memory, bool peer_access, bool pools, bool lend_as_cuda,
                       bool continue_after_touch, bool late_copies) {
             return Owner(new SimulatedDevices({.count = count,
                                                .memory = memory,
                                                .peer_access = peer_access,
                                                .pools = pools,
                                                .lend_as_cuda = lend_as_cuda,
                                                .continue_after_touch = continue_after_touch,
                                                .late_copies = late_copies}));
           }),
           py::kw_only(), py::arg("count"), py::arg("memory"), py::arg("peer_access"), py::arg("pools"),
           py::arg("lend_as_cuda"), py::arg("continue_after_touch"), py::arg("late_copies"))
      .def("end", &SimulatedDevices::end)
      .def("fail", &SimulatedDevices::fail)
      .def("drop", &SimulatedDevices::drop)
      .def("delay", &delay)
      .def("clear", &SimulatedDevices::clear)
      .def("calls", &SimulatedDevices::calls)
      .def("live", &live)
      .def("live_resources", &SimulatedDevices::live_resources)
      .def("waits", &SimulatedDevices::waits)
      .def("violations", &SimulatedDevices::violations);
}

}  // namespace memarray::python
