#include "cuda/handle_types.hpp"
#include "zeroed_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace py = pybind11;

namespace memarray::python {
namespace {

using testing::SimulatedDevices;

/// `memarray.testing.SimulatedDevices`: its `with` block makes the devices.
class DevicesBlock : public ZeroedMemory {
 public:
  explicit DevicesBlock(testing::SimulatedOptions const& options) : _options(options) {}

  void enter() {
    check_initialized(_is_initialized);
    if (_is_entered.exchange(true))
      throw std::runtime_error("these simulated devices were entered already; make new ones for another block");
    try {
      _devices.reset(new SimulatedDevices(_options));
    } catch (...) {
      _is_entered = false;
      throw;
    }
  }
  [[nodiscard]] SimulatedDevices& get() const {
    check_initialized(_is_initialized);
    if (!_devices) throw std::runtime_error("these simulated devices are not open: enter their 'with' block first");
    return *_devices;
  }

 private:
  /// A deleter that ends delays first: the end of the interpreter must not wait for a block that was never left.
  struct DropWithoutDelay {
    void operator()(SimulatedDevices* devices) const {
      devices->delay({});
      delete devices;
    }
  };

  bool _is_initialized = true;
  testing::SimulatedOptions _options;
  std::atomic<bool> _is_entered{false};
  std::unique_ptr<SimulatedDevices, DropWithoutDelay> _devices;
};

/// Wraps a member function of `SimulatedDevices` for a `DevicesBlock`.
template <class Result, class... Arguments>
auto opened(Result (SimulatedDevices::*call)(Arguments...)) {
  return [call](DevicesBlock const& self, Parameter<std::remove_cvref_t<Arguments>> const&... arguments) {
    return (self.get().*call)(arguments.value...);
  };
}
template <class Result, class... Arguments>
auto opened(Result (SimulatedDevices::*call)(Arguments...) const) {
  return [call](DevicesBlock const& self, Parameter<std::remove_cvref_t<Arguments>> const&... arguments) {
    return (self.get().*call)(arguments.value...);
  };
}

void leave(DevicesBlock const& self, py::object const& type, py::handle, py::handle) {
  self.get().end();
  std::vector<std::string> const violations = self.get().violations();
  if (!type.is_none() || violations.empty()) return;
  std::string lines;
  for (std::string const& violation : violations) lines += (lines.empty() ? "" : "\n") + violation;
  py::set_error(py::module_::import("memarray._core").attr("Violation"), lines.c_str());
  throw py::error_already_set();
}

void delay(DevicesBlock const& self, Parameter<double> seconds) {
  if (!(seconds >= 0 && seconds <= 3600))
    throw ValueError("delay takes 0 to 3600 seconds, not " + std::to_string(seconds.value));
  self.get().delay(std::chrono::nanoseconds(std::llround(seconds * 1e9)));
}

py::dict live(DevicesBlock const& self) {
  testing::LiveResources const now = self.get().live();
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

}  // namespace

void add_simulated_devices(py::module_& m) {
  PyObject* const violation = PyErr_NewExceptionWithDoc(
      "memarray.testing.Violation", "Forbidden uses of devices, seen while they were simulated; one line for each.",
      PyExc_AssertionError, nullptr);
  if (!violation) throw py::error_already_set();
  m.attr("Violation") = py::reinterpret_steal<py::object>(violation);

  py::class_<DevicesBlock>(m, "SimulatedDevices",
                           R"(Simulated devices for the length of a ``with`` block.

Inside it this process uses them instead of a real driver. Each stream is a thread, so work without a wait is really
concurrent. Device memory faults if the host accesses it outside a simulated copy or kernel. The access is printed with
its address and allocation site. It ends the process, or is a violation with ``continue_after_touch``. Resources made in
the block stay valid after it, and the counters can still be read. Leaving the block waits for all work. It raises
`Violation` if there were violations, unless another exception is propagating.

Parameters
----------
count : number of devices.
memory : bytes of each device.
peer_access : whether devices reach each other's memory.
pools : whether devices have stream-ordered memory pools.
lend_as_cuda : export their memory over DLPack as CUDA's instead of as an extension device's.
continue_after_touch : a host access to device memory opens that memory to the host instead of ending the process.
late_copies : an asynchronous copy from or to pageable host memory accesses that memory when its stream reaches the
    copy, as CUDA's documents allow. Otherwise it does so before the call returns, as most drivers do.)")
      .def(py::init([](Parameter<int> count, Parameter<std::size_t> memory, Parameter<bool> peer_access,
                       Parameter<bool> pools, Parameter<bool> lend_as_cuda, Parameter<bool> continue_after_touch,
                       Parameter<bool> late_copies) {
             return std::make_unique<DevicesBlock>(
                 testing::SimulatedOptions{.count = count,
                                           .memory = memory,
                                           .peer_access = peer_access,
                                           .pools = pools,
                                           .lend_as_cuda = lend_as_cuda,
                                           .continue_after_touch = continue_after_touch,
                                           .late_copies = late_copies});
           }),
           py::arg("count") = 2, py::kw_only(), py::arg("memory") = std::size_t{256} << 20,
           py::arg("peer_access") = true, py::arg("pools") = true, py::arg("lend_as_cuda") = false,
           py::arg("continue_after_touch") = false, py::arg("late_copies") = false)
      .def("__enter__",
           [](py::object self) {
             self.cast<DevicesBlock&>().enter();
             return self;
           })
      .def("__exit__", &leave)
      .def(
          "fail",
          [](DevicesBlock const& self, Parameter<std::string> const& function, Parameter<int> nth, Parameter<int> code,
             Parameter<std::optional<int>> const& times) {
            self.get().fail(function.value, nth, code, times.value.value_or(SimulatedDevices::always));
          },
          py::arg("function"), py::arg("nth") = 1, py::arg("code") = 2, py::arg("times") = py::none(),
          "Makes the ``nth`` call from now of a driver function fail with ``code`` (2: out of memory). Each later call "
          "fails too, or ``times`` calls in all. `function` is the name without suffix. ValueError for an unknown "
          "name.")
      .def(
          "drop", opened(&SimulatedDevices::drop), py::arg("function"), py::arg("nth") = 1, py::arg("times") = 1,
          "Makes the ``nth`` call from now report success and do nothing, for ``times`` calls in all. ValueError for a "
          "function that returns a result to its caller.")
      .def("delay", &delay, py::arg("seconds"), "Delays each piece of work on a stream by that time.")
      .def("clear", opened(&SimulatedDevices::clear), "Ends the effects of ``fail``, ``drop`` and ``delay``.")
      .def("calls", opened(&SimulatedDevices::calls), py::arg("function") = "",
           "Returns the number of calls of a driver function; without a name, of all functions.")
      .def("live", &live, "Returns the number of live resources of each kind.")
      .def("live_resources", opened(&SimulatedDevices::live_resources),
           "Describes each live resource, with the line of Python that made it, if Python did.")
      .def("waits", opened(&SimulatedDevices::waits),
           "Returns each wait for work so far, also those dropped by ``drop``, as ``\"cuStreamWaitEvent: <where in the "
           "library>\"``. The blocking waits (cuEventSynchronize, cuStreamSynchronize, cuCtxSynchronize) are "
           "included.")
      .def("violations", opened(&SimulatedDevices::violations),
           "Describes the violations in the order in which they happened: calls on destroyed resources, resources "
           "destroyed before their dependants, memory freed while work used it, host accesses to device memory.");
  m.attr("SimulatedDevices").attr("__module__") = "memarray.testing";
}

}  // namespace memarray::python
