// The driver's own copies, empty launches, and memarray without Python. All calls use memarray's driver table, so that
// simulated devices run this code too.

#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/python/memarray.hpp>

#include <pybind11/pybind11.h>

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

namespace py = pybind11;

namespace {

using Field = memarray::MemArray<float, 3>;

void check(memarray::cu::Result code, char const* what) {
  if (code != 0) memarray::throw_driver_error(code, what);
}

/// A stream of cuda:0 and the operations that run in it.
class Lane {
 public:
  Lane() : _context(memarray::get_primary_context(0)), _stream(memarray::create_stream_handle(_context)) {
    if (!_stream) memarray::throw_last_error("making a stream");
  }

  void synchronize() const { check(driver().cuStreamSynchronize(*_stream), "waiting"); }

  void launch_empty(int times) const;
  void add_index(Field& field, int times) const {
    for (int i = 0; i < times; ++i) memarray::add_index_tuple(field, memarray::as_intptr(_stream));
  }

  [[nodiscard]] memarray::ContextHandle const& context() const { return _context; }
  [[nodiscard]] memarray::StreamHandle const& stream() const { return _stream; }
  [[nodiscard]] memarray::DriverTable const& driver() const { return *memarray::driver_of(_context); }

 private:
  memarray::ContextHandle _context;
  memarray::StreamHandle _stream;
};

#if defined(__CUDACC__)
__global__ void empty() {}
#endif

void Lane::launch_empty(int times) const {
  for (int i = 0; i < times; ++i) {
    if (driver().is_simulated()) {
      check(driver().launch_simulated(*_stream, [](void*) {}, nullptr), "launching");
      continue;
    }
#if defined(__CUDACC__)
    check(driver().cuCtxPushCurrent(*_context), "launching");
    empty<<<1, 32, 0, *_stream>>>();
    memarray::cu::Context popped = nullptr;
    check(driver().cuCtxPopCurrent(&popped), "launching");
    check(static_cast<int>(cudaGetLastError()), "launching");
#else
    throw memarray::CudaError(801, "CUDA_ERROR_NOT_SUPPORTED", "these floors were built without nvcc");
#endif
  }
}

/// Copies of a fixed number of bytes, made by the driver alone.
class Copies {
 public:
  Copies(Lane const& lane, std::size_t bytes)
      : _lane(lane),
        _bytes(bytes),
        _first(memarray::allocate_device(lane.context(), bytes)),
        _second(memarray::allocate_device(lane.context(), bytes)),
        _pinned(memarray::allocate_pinned(lane.context(), bytes)),
        _pageable(bytes, std::byte{1}) {
    if (!_first || !_second || !_pinned) memarray::throw_last_error("memory for copies");
  }

  void on_device() const {
    check(_lane.driver().cuMemcpyDtoDAsync(*_second, *_first, _bytes, *_lane.stream()), "copying on the device");
  }
  void pinned_in() const { in(reinterpret_cast<void const*>(*_pinned)); }
  void pinned_out() const { out(reinterpret_cast<void*>(*_pinned)); }
  void pageable_in() const { in(_pageable.data()); }
  void pageable_out() { out(_pageable.data()); }

 private:
  void in(void const* from) const {
    check(_lane.driver().cuMemcpyHtoDAsync(*_first, from, _bytes, *_lane.stream()), "copying in");
  }
  void out(void* to) const {
    check(_lane.driver().cuMemcpyDtoHAsync(to, *_first, _bytes, *_lane.stream()), "copying out");
  }

  Lane _lane;
  std::size_t _bytes;
  memarray::DevicePtrHandle _first;
  memarray::DevicePtrHandle _second;
  memarray::DevicePtrHandle _pinned;
  std::vector<std::byte> _pageable;
};

/// Memory of cuda:0, allocated as arrays on cuda:0 allocate it.
class Memory {
 public:
  explicit Memory(Lane const& lane) : _lane(lane), _resource(memarray::DriverResource::of_device(0)) {}
  void take_and_give(std::size_t bytes) {
    void* const memory = _resource.allocate(_lane.stream(), bytes);
    _resource.deallocate(_lane.stream(), memory, bytes);
  }

 private:
  Lane _lane;
  memarray::DriverResource _resource;
};

}  // namespace

PYBIND11_MODULE(gpu_floors, module) {
  memarray::python::initialize();
  py::class_<Lane>(module, "Lane")
      .def(py::init())
      .def("synchronize", &Lane::synchronize)
      .def("launch_empty", &Lane::launch_empty)
      .def("add_index", &Lane::add_index)
      .def_property_readonly("handle", [](Lane const& lane) { return memarray::as_intptr(lane.stream()); });
  py::class_<Copies>(module, "Copies")
      .def(py::init<Lane const&, std::size_t>())
      .def("on_device", &Copies::on_device)
      .def("pinned_in", &Copies::pinned_in)
      .def("pinned_out", &Copies::pinned_out)
      .def("pageable_in", &Copies::pageable_in)
      .def("pageable_out", &Copies::pageable_out);
  py::class_<Memory>(module, "Memory").def(py::init<Lane const&>()).def("take_and_give", &Memory::take_and_give);
  module.def("pinned_field", [](std::int64_t a, std::int64_t b, std::int64_t c) {
    auto const context = memarray::get_primary_context(0);
    if (!context) memarray::throw_last_error("pinned memory");
    return Field({a, b, c}, 0, {.resource = memarray::DriverResource::pinned(context)});
  });
}
