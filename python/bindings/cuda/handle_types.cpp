#include "cuda/handle_types.hpp"

#include "allocation_site.hpp"
#include "helpers.hpp"
#include "memory/deferred.hpp"
#include "python_errors.hpp"
#include "shown.hpp"
#include "zeroed_memory.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace py = pybind11;

namespace memarray::python {
namespace {

template <class Handle>
class Held : public ZeroedMemory {
 public:
  Held(Handle handle) noexcept : _handle(std::move(handle)) {}
  [[nodiscard]] Handle const& get() const {
    check_initialized(static_cast<bool>(_handle));
    return _handle;
  }

 private:
  Handle _handle;
};
using PyStream = Held<StreamHandle>;
using PyEvent = Held<EventHandle>;
using PyPool = Held<MemoryPoolHandle>;

ContextHandle context_on(int device_id, char const* what) {
  detail::run_deferred();
  ContextHandle context = get_primary_context(device_id);
  if (!context) throw_last_error((std::string(what) + " on cuda:" + std::to_string(device_id)).c_str());
  return context;
}

template <class T>
T checked(T result, char const* what) {
  if (!result) throw_last_error(what);
  return result;
}

PyStream make_stream(DeviceId device_id, Parameter<int> priority, Parameter<bool> nonblocking) {
  AllocationSiteScope const site;
  ContextHandle const context = context_on(device_id, "making a stream");
  return {checked(create_stream_handle(context, nonblocking, priority), "making a stream")};
}

PyEvent make_event(DeviceId device_id, Parameter<bool> timing) {
  AllocationSiteScope const site;
  return {checked(create_event_handle(context_on(device_id, "making an event"), timing), "making an event")};
}

PyPool make_pool(DeviceId device_id, Parameter<std::optional<std::uint64_t>> const& threshold,
                 Parameter<std::size_t> max_size) {
  std::optional<std::uint64_t> const& release_threshold = threshold;
  AllocationSiteScope const site;
  static_cast<void>(context_on(device_id, "making a memory pool"));
  MemoryPoolOptions options;
  if (release_threshold) options.release_threshold = *release_threshold;
  options.max_size = max_size;
  return {checked(create_memory_pool_handle(device_id, options), "making a memory pool")};
}

// The handle keeps `owner` alive.
StreamHandle foreign_stream(std::intptr_t address, py::object owner) {
  if (address < 0) throw ValueError("stream must be 0, 1, 2 or the address of a CUDA stream");
  auto* const kept = owner.release().ptr();
  KeepAlive keep(static_cast<void const*>(kept), [](void const* object) {
    if (GilAcquire const gil; gil) Py_DECREF(static_cast<PyObject*>(const_cast<void*>(object)));
  });
  return checked(create_stream_handle_with_owner(reinterpret_cast<cu::Stream>(address), std::move(keep)),
                 "using a foreign stream");
}

std::intptr_t to_address(py::handle number, char const* what) {
  if (!is_integer(number.ptr())) throw TypeError(std::string(what) + " must be an integer");
  Py_ssize_t const value = PyNumber_AsSsize_t(number.ptr(), PyExc_OverflowError);
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

// Returns `__cuda_stream__`, or null. Throws other errors of a property.
py::object cuda_stream_method(py::handle object) {
  PyObject* const method = PyObject_GetAttrString(object.ptr(), "__cuda_stream__");
  if (!method && !PyErr_ExceptionMatches(PyExc_AttributeError)) throw py::error_already_set();
  PyErr_Clear();
  return py::reinterpret_steal<py::object>(method);
}

std::intptr_t cuda_stream_address(py::handle object) {
  py::object const method = cuda_stream_method(object);
  if (!method)
    throw TypeError("stream must be None, an integer, a memarray.Stream or an object with __cuda_stream__, not " +
                    shown(object.ptr()));
  py::object const answer = method();
  if (!py::isinstance<py::tuple>(answer) || py::len(answer) != 2)
    throw TypeError("__cuda_stream__ must return (version, address of the stream)");
  py::tuple const pair(answer);
  if (!is_integer(py::handle(pair[0]).ptr()))
    throw TypeError("the version that __cuda_stream__ returns must be an integer");
  int overflow = 0;
  long long const version = PyLong_AsLongLongAndOverflow(py::handle(pair[0]).ptr(), &overflow);
  if (version != 0 || overflow != 0)
    throw ValueError("__cuda_stream__ returned version " +
                     (overflow ? "too large for 64 bits" : std::to_string(version)) +
                     ": expected 0, the one that memarray reads; pass the stream's address as an integer");
  return to_address(pair[1], "the address that __cuda_stream__ returns");
}

StreamHandle to_stream(py::object const& object) {
  if (object.is_none()) return default_stream();
  if (py::isinstance<PyStream>(object)) return object.cast<PyStream const&>().get();
  if (is_integer(object.ptr())) return foreign_stream(to_address(object, "stream"), py::none());
  return foreign_stream(cuda_stream_address(object), object);
}

PyEvent const& to_event(py::handle object) {
  if (!py::isinstance<PyEvent>(object)) throw TypeError("expected a memarray.Event, got " + shown(object.ptr()));
  return object.cast<PyEvent const&>();
}

py::object device_of(ContextHandle const& context) {
  if (!context) return py::none();
  return py::module_::import("memarray").attr("Device")("cuda:" + std::to_string(device_id_of(context)));
}

template <class Handle>
std::string describe(char const* kind, Handle const& handle) {
  return "<memarray." + std::string(kind) + " " + std::to_string(as_intptr(handle)) + " on " +
         py::str(device_of(context_of(handle))).cast<std::string>() + ">";
}

void synchronize_stream(PyStream const& self) {
  checked(synchronize(self.get(), context_of(self.get())), "waiting for a stream");
}

void add_stream(py::module_& m) {
  py::class_<PyStream>(m, "Stream", R"(A stream of work on a CUDA device, which runs in the order of submission.

The stream lives as long as anything that uses it. Raises CudaError if the device does not exist.)")
      .def(py::init(&make_stream), py::arg("device_id") = DeviceId(), py::arg("priority") = 0,
           py::arg("nonblocking") = true,
           "priority: a lower number runs sooner. nonblocking: no implicit synchronization with the default stream.")
      .def_property_readonly(
          "handle", [](PyStream const& self) { return as_intptr(self.get()); }, "The address of the CUstream.")
      .def_property_readonly(
          "device", [](PyStream const& self) { return device_of(context_of(self.get())); }, "The device of the stream.")
      .def("synchronize", &synchronize_stream, "Waits, without the GIL, until all work in the stream has completed.")
      .def(
          "wait",
          [](PyStream const& self, py::handle event) {
            checked(wait(self.get(), to_event(event).get()), "making a stream wait");
          },
          py::arg("event"), "Makes later work wait for the work that the event stands for now. Does not block.")
      .def(
          "record",
          [](PyStream const& self, py::handle given) {
            AllocationSiteScope const site;
            PyEvent const event = given.is_none()
                                      ? PyEvent{checked(create_event_handle(context_of(self.get())), "making an event")}
                                      : to_event(given);
            checked(record(event.get(), self.get()), "recording an event");
            return event;
          },
          py::arg("event") = py::none(),
          "Records an event (by default a new one) for the end of all work in the stream, and returns it.")
      .def(
          "__cuda_stream__", [](PyStream const& self) { return py::make_tuple(0, as_intptr(self.get())); },
          "Returns (0, address of the CUstream), with which libraries pass streams to each other.")
      .def(
          "__eq__", [](PyStream const& self, PyStream const& other) { return as_cu(self.get()) == as_cu(other.get()); },
          py::is_operator())
      .def("__hash__", [](PyStream const& self) { return py::hash(py::int_(as_intptr(self.get()))); })
      .def("__repr__", [](PyStream const& self) { return describe("Stream", self.get()); });
}

void add_event(py::module_& m) {
  py::class_<PyEvent>(m, "Event", R"(A point in a stream that other streams and the host can wait for.

Before it is recorded there is nothing to wait for. Raises CudaError if the device does not exist.)")
      .def(py::init(&make_event), py::arg("device_id") = DeviceId(), py::arg("timing") = false,
           "timing: the event measures time, at a small cost.")
      .def_property_readonly(
          "handle", [](PyEvent const& self) { return as_intptr(self.get()); }, "The address of the CUevent.")
      .def_property_readonly(
          "device", [](PyEvent const& self) { return device_of(context_of(self.get())); }, "The device of the event.")
      .def_property_readonly(
          "timing", [](PyEvent const& self) { return has_timing(self.get()); }, "True if the event measures time.")
      .def(
          "record",
          [](PyEvent const& self, py::object const& stream) {
            checked(record(self.get(), to_stream(stream)), "recording an event");
          },
          py::arg("stream"),
          "Makes the event stand for the end of all work that is now in the stream (None: the default stream).")
      .def(
          "wait",
          [](PyEvent const& self, py::object const& stream) {
            checked(wait(to_stream(stream), self.get()), "making a stream wait");
          },
          py::arg("stream") = py::none(),
          "Makes later work in the stream (None: the default stream) wait for the work that the event stands for now. "
          "Does not block.")
      .def(
          "synchronize", [](PyEvent const& self) { checked(synchronize(self.get()), "waiting for an event"); },
          "Waits, without the GIL, until the work that the event stands for has completed.")
      .def(
          "query", [](PyEvent const& self) { return *checked(query(self.get()), "asking for an event"); },
          "Returns True if the work that the event stands for has completed.")
      .def(
          "elapsed",
          [](PyEvent const& self, py::handle end) {
            return *checked(elapsed(self.get(), to_event(end).get()), "asking for the time between two events");
          },
          py::arg("end"),
          "Returns the seconds from this event to another. Both must have timing, be recorded and be completed.")
      .def("__repr__", [](PyEvent const& self) { return describe("Event", self.get()); });
}

void add_pool(py::module_& m) {
  py::class_<PyPool>(m, "MemoryPool", R"(A pool of device memory, which is allocated and freed in stream order.

The pool lives as long as memory from it. Raises CudaError if the device does not exist or has no pools.)")
      .def(py::init(&make_pool), py::arg("device_id") = DeviceId(), py::arg("release_threshold") = py::none(),
           py::arg("max_size") = 0,
           "release_threshold: bytes that the pool keeps (None: all). max_size: bytes that it may have (0: no limit).")
      .def_property_readonly(
          "handle", [](PyPool const& self) { return as_intptr(self.get()); }, "The address of the CUmemoryPool.")
      .def_property_readonly(
          "device", [](PyPool const& self) { return device_of(context_of(self.get())); }, "The device of the pool.")
      .def(
          "stats",
          [](PyPool const& self) {
            MemoryPoolStatistics now;
            checked(get_statistics(self.get(), now), "asking a memory pool");
            return to_dict(now);
          },
          "Returns the bytes reserved and used, now and at most.")
      .def(
          "trim",
          [](PyPool const& self, Parameter<std::size_t> keep) {
            checked(trim(self.get(), keep), "trimming a memory pool");
          },
          py::arg("keep") = 0, "Releases unused memory to the device, except `keep` bytes.")
      .def("__repr__", [](PyPool const& self) { return describe("MemoryPool", self.get()); });
}

template <class Handle>
PyObject* wrap(Handle const& handle) noexcept {
  return guarded([&] {
    if (!handle) throw ValueError("this handle is null: its creation failed, so there is no object to return");
    return py::cast(Held<Handle>(handle)).release().ptr();
  });
}

}  // namespace

PyObject* wrap_stream(StreamHandle const& stream) { return wrap(stream); }
PyObject* wrap_event(EventHandle const& event) { return wrap(event); }
PyObject* wrap_pool(MemoryPoolHandle const& pool) { return wrap(pool); }

StreamChoice stream_of(py::handle object) {
  if (py::isinstance<PyStream>(object)) return object.cast<PyStream const&>().get();
  std::intptr_t const address = cuda_stream_address(object);
  if (!driver()) return {};
  return foreign_stream(address, py::reinterpret_borrow<py::object>(object));
}

namespace {

Loaded read_stream_argument(py::handle object, StreamHandle& stream) {
  bool const names_one = object.is_none() || is_integer(object.ptr());
  if (!names_one && !py::isinstance<PyStream>(object) && !cuda_stream_method(object)) return Loaded::no;
  StreamChoice choice;
  if (!read_stream(object.ptr(), choice)) return Loaded::failed;
  stream = choice.get();
  return Loaded::yes;
}

}  // namespace

Loaded load_stream(PyObject* object, bool converts, StreamHandle& stream) noexcept {
  Loaded const loaded = guarded([&] { return read_stream_argument(object, stream); });
  // For most errors, other overloads come first.
  if (loaded != Loaded::failed || converts || ends_overload_search()) return loaded;
  PyErr_Clear();
  return Loaded::no;
}

void add_resource_types(py::module_& m) {
  add_stream(m);
  add_event(m);
  add_pool(m);
  for (char const* const name : {"Stream", "Event", "MemoryPool"}) m.attr(name).attr("__module__") = "memarray";
  m.def("synchronize", [] {
    detail::run_deferred();
    checked(synchronize_all(), "waiting for the devices");
  });
}

}  // namespace memarray::python
