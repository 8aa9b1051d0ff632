// A DLPack consumer like those of other libraries: it knows capsules and the driver, but not leases, blocks and waits.

#include "testing/consumer.hpp"

#include "allocation_site.hpp"
#include "cuda/handle_types.hpp"
#include "export/capsule_names.hpp"
#include "lease/lease_type.hpp"
#include "shown.hpp"
#include "testing/consumer_backlog.hpp"

#include <dlpack/dlpack.h>
#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/last_error.hpp>

#include <pybind11/stl.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace memarray::python {
namespace {

using detail::BoundStream;
using detail::check_driver;

py::object numpy_dtype(DType const& dtype) {
  return py::module_::import("memarray._dtypes").attr("numpy_dtype")(dtype.name, dtype.typestr);
}

/// A tensor's elements when the consumer's stream reached the read.
class ConsumerReading {
 public:
  ConsumerReading(std::shared_ptr<ConsumerBacklog> backlog, std::shared_ptr<ConsumerPiece> piece, std::string bytes,
                  DType const& dtype, std::vector<std::int64_t> shape)
      : _backlog(std::move(backlog)),
        _piece(std::move(piece)),
        _bytes(std::move(bytes)),
        _dtype(&dtype),
        _shape(std::move(shape)) {}

  [[nodiscard]] bool is_over() const { return !_piece || _piece->is_over(); }
  [[nodiscard]] py::object result() {
    if (_piece) {
      _piece->wait();
      std::memcpy(_bytes.data(), _piece->data(), _bytes.size());
      _piece.reset();
    }
    return py::module_::import("numpy")
        .attr("frombuffer")(py::bytes(_bytes), numpy_dtype(*_dtype))
        .attr("reshape")(py::tuple(py::cast(_shape)))
        .attr("copy")();
  }

 private:
  std::shared_ptr<ConsumerBacklog> _backlog;
  std::shared_ptr<ConsumerPiece> _piece;  // null: completed
  std::string _bytes;
  DType const* _dtype;
  std::vector<std::int64_t> _shape;
};

template <class T>
void add_to(void* elements, std::size_t count, void const* value) {
  T term;
  std::memcpy(&term, value, sizeof term);
  auto* const all = static_cast<T*>(elements);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bool>)
      all[i] = all[i] || term;
    else
      all[i] = detail::add_wrapping(all[i], term);
  }
}

using Add = void (*)(void*, std::size_t, void const*);

Add add_of(DType const& dtype) {
#define MEMARRAY_ADD_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return &add_to<type>;
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_ADD_IF)
#undef MEMARRAY_ADD_IF
  throw BufferError("this consumer cannot add " + std::string(dtype.name_view()));
}

DType const& dtype_of_tensor(DLTensor const& tensor) {
  for (DType const& dtype : shipped_dtypes())
    if (dtype.dl.code == tensor.dtype.code && dtype.dl.bits == tensor.dtype.bits && tensor.dtype.lanes == 1)
      return dtype;
  throw BufferError("a Consumer takes memarray's dtypes; the tensor has the DLPack type code " +
                    std::to_string(tensor.dtype.code) + " with " + std::to_string(tensor.dtype.bits) + " bits and " +
                    std::to_string(tensor.dtype.lanes) + " lanes");
}

class ConsumerTensor {
 public:
  ConsumerTensor(py::capsule const& capsule, py::object const& stream, std::shared_ptr<ConsumerBacklog> backlog)
      : _backlog(std::move(backlog)) {
    take(capsule.ptr());
    try {
      examine(stream);
    } catch (...) {
      drop();
      throw;
    }
  }
  ~ConsumerTensor() { drop(); }
  ConsumerTensor(ConsumerTensor const&) = delete;
  ConsumerTensor& operator=(ConsumerTensor const&) = delete;

  [[nodiscard]] std::vector<std::int64_t> const& shape() const noexcept { return _shape; }
  [[nodiscard]] DType const& dtype() const noexcept { return *_dtype; }
  [[nodiscard]] DLDevice device() const noexcept { return _device; }
  [[nodiscard]] std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(_data); }
  [[nodiscard]] bool is_versioned() const noexcept { return _is_versioned; }
  [[nodiscard]] bool has_flag(std::uint64_t flag) const noexcept { return (_flags & flag) != 0; }
  [[nodiscard]] bool is_dropped() const noexcept { return _managed == nullptr; }

  std::unique_ptr<ConsumerReading> read() {
    check_kept();
    std::string bytes(_bytes, '\0');
    if (!_bound_stream) std::memcpy(bytes.data(), _data, _bytes);
    if (!_bound_stream || _bytes == 0)
      return std::make_unique<ConsumerReading>(_backlog, nullptr, std::move(bytes), *_dtype, _shape);
    auto piece = _backlog->begin(*_bound_stream, _bytes);
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check_driver(driver.cuMemcpyDtoHAsync(piece->data(), address(), _bytes, stream), "a consumer's read");
    });
    return std::make_unique<ConsumerReading>(_backlog, std::move(piece), std::move(bytes), *_dtype, _shape);
  }

  void write(py::object const& value) {
    check_writable();
    // Runs Python code, which may drop the tensor.
    py::object array = py::module_::import("numpy").attr("empty")(py::tuple(py::cast(_shape)), numpy_dtype(*_dtype));
    array.attr("__setitem__")(py::ellipsis(), value);
    std::string const contents = array.attr("tobytes")().cast<std::string>();
    check_writable();
    AllocationSiteScope const site;
    if (!_bound_stream) std::memcpy(_data, contents.data(), _bytes);
    if (!_bound_stream || _bytes == 0) return;
    auto const piece = _backlog->begin(*_bound_stream, _bytes);
    std::memcpy(piece->data(), contents.data(), _bytes);
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check_driver(driver.cuMemcpyHtoDAsync(address(), piece->data(), _bytes, stream), "a consumer's write");
    });
  }

  void add(py::object const& value) {
    check_writable();
    // Python code may drop the tensor.
    std::string const element = py::module_::import("numpy")
                                    .attr("asarray")(value)
                                    .attr("astype")(numpy_dtype(*_dtype))
                                    .attr("tobytes")()
                                    .cast<std::string>();
    if (element.size() != _dtype->itemsize) throw ValueError("expected one number to add; got several");
    check_writable();
    AllocationSiteScope const site;
    std::size_t const count = _bytes / _dtype->itemsize;
    Add const add_all = add_of(*_dtype);
    if (!_bound_stream) add_all(_data, count, element.data());
    if (!_bound_stream || _bytes == 0) return;
    struct Sum {
      Add add;
      void* elements;
      std::size_t count;
      std::string element;
    };
    auto sum = std::make_unique<Sum>(Sum{add_all, nullptr, count, element});
    auto const piece = _backlog->begin(*_bound_stream, _bytes);
    sum->elements = piece->data();
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check_driver(driver.cuMemcpyDtoHAsync(piece->data(), address(), _bytes, stream), "a consumer's read");
      cu::HostFunction const run = [](void* data) {
        std::unique_ptr<Sum> const todo(static_cast<Sum*>(data));
        todo->add(todo->elements, todo->count, todo->element.data());
      };
      check_driver(driver.cuLaunchHostFunc(stream, run, sum.get()), "a consumer's sum");
      [[maybe_unused]] auto* const taken = sum.release();
      check_driver(driver.cuMemcpyHtoDAsync(address(), piece->data(), _bytes, stream), "a consumer's write");
    });
  }

  void drop() noexcept {
    void* const managed = _managed.exchange(nullptr);
    if (managed && _deleter) _deleter(managed);
  }

  void drop_in_stream() {
    if (!_bound_stream || is_dropped()) return drop();
    struct Last {
      void* managed;
      std::function<void(void*)> deleter;
    };
    auto last = std::make_unique<Last>(Last{nullptr, _deleter});
    cu::HostFunction const run = [](void* data) {
      std::unique_ptr<Last> const todo(static_cast<Last*>(data));
      if (todo->deleter) todo->deleter(todo->managed);
    };
    detail::ContextScope const scope(_bound_stream->context);
    if (!scope.driver()) throw_last_error("a consumer's drop");
    // Another thread may drop the tensor meanwhile.
    last->managed = _managed.exchange(nullptr);
    if (!last->managed) return;
    RuntimeRelease const released;
    if (cu::Result const failed = scope.driver()->cuLaunchHostFunc(*_bound_stream->stream, run, last.get());
        failed != 0) {
      _managed = last->managed;
      throw_driver_error(failed, "a consumer's drop");
    }
    [[maybe_unused]] auto* const taken = last.release();
  }

 private:
  template <class Managed>
  void own(PyObject* capsule) {
    auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, CapsuleName<Managed>::offered));
    if (!managed || PyCapsule_SetName(capsule, CapsuleName<Managed>::used) != 0) throw py::error_already_set();
    _managed = managed;
    if (managed->deleter) _deleter = [deleter = managed->deleter](void* raw) { deleter(static_cast<Managed*>(raw)); };
    if constexpr (requires { managed->flags; }) {
      _is_versioned = true;
      _flags = managed->flags;
    }
  }

  // Renames the capsule at once, so that nothing else deletes the tensor.
  void take(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, CapsuleName<DLManagedTensorVersioned>::offered))
      return own<DLManagedTensorVersioned>(capsule);
    if (PyCapsule_IsValid(capsule, CapsuleName<DLManagedTensor>::offered)) return own<DLManagedTensor>(capsule);
    throw ValueError("expected an unused DLPack capsule; got " + shown(capsule));
  }

  void examine(py::object const& stream) {
    if (_is_versioned)
      if (auto const version = static_cast<DLManagedTensorVersioned*>(_managed.load())->version.major;
          version != DLPACK_MAJOR_VERSION)
        throw BufferError("a Consumer knows DLPack " + std::to_string(DLPACK_MAJOR_VERSION) +
                          "; the tensor has DLPack " + std::to_string(version));
    DLTensor const& tensor = _is_versioned ? static_cast<DLManagedTensorVersioned*>(_managed.load())->dl_tensor
                                           : static_cast<DLManagedTensor*>(_managed.load())->dl_tensor;
    _dtype = &dtype_of_tensor(tensor);
    _device = tensor.device;
    _data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    _shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    std::int64_t dense = 1;
    for (std::size_t d = _shape.size(); d-- > 0; dense *= _shape[d])
      if (tensor.strides && _shape[d] > 1 && tensor.strides[d] != dense)
        throw BufferError("a Consumer takes tensors in C order, so dimension " + std::to_string(d) +
                          " must have a stride of " + std::to_string(dense) + "; it has " +
                          std::to_string(tensor.strides[d]) + ": pass a copy");
    _bytes = static_cast<std::size_t>(dense) * _dtype->itemsize;
    if (_device.device_type == kDLCPU || _device.device_type == kDLCUDAHost) return;
    Device const device{_device.device_type, _device.device_id};
    if (_device.device_type != kDLCUDA && _device.device_type != kDLCUDAManaged && _device.device_type != kDLExtDev)
      throw BufferError("a Consumer knows the host and CUDA devices; the tensor is on " + to_string(device));
    if (_device.device_type == kDLExtDev && !(driver() && driver()->is_simulated()))
      throw BufferError("a Consumer knows an extension device only while it is simulated; the tensor is on " +
                        to_string(device));
    StreamChoice choice;
    if (!read_stream(stream.ptr(), choice)) throw py::error_already_set();
    ContextHandle const context = get_primary_context(_device.device_id);
    if (!context) throw_last_error("a consumer's device");
    _bound_stream = detail::bind_stream(choice.get(), context);
  }

  void check_kept() const {
    if (!_managed) throw ValueError("this view was dropped");
  }
  void check_writable() const {
    check_kept();
    if (has_flag(DLPACK_FLAG_BITMASK_READ_ONLY))
      throw ValueError("this tensor is read-only: its producer exported it read-only (take it from a write lease)");
  }

  std::shared_ptr<ConsumerBacklog> _backlog;
  std::atomic<void*> _managed = nullptr;
  std::function<void(void*)> _deleter;
  bool _is_versioned = false;
  std::uint64_t _flags = 0;
  DLDevice _device{kDLCPU, 0};
  DType const* _dtype = nullptr;
  std::byte* _data = nullptr;
  std::size_t _bytes = 0;
  std::vector<std::int64_t> _shape;
  std::optional<BoundStream> _bound_stream;  // empty: host memory
};

}  // namespace

void add_consumer(py::module_& m) {
  // Python cannot make objects of these types: pybind11 would expose them uninitialized.
  py::custom_type_setup const not_from_python(
      [](PyHeapTypeObject* type) { type->ht_type.tp_flags |= Py_TPFLAGS_DISALLOW_INSTANTIATION; });
  py::class_<ConsumerReading>(m, "ConsumerReading", "The result of a read by a `ConsumerView`.", not_from_python)
      .def_property_readonly("is_over", &ConsumerReading::is_over, "True if the read has completed.")
      .def("result", &ConsumerReading::result,
           "Waits, without the GIL, and returns the elements as a new NumPy array.");
  py::class_<ConsumerTensor>(m, "ConsumerView",
                             "A tensor that a `Consumer` took. It is kept until ``drop()``, the end of a ``with`` "
                             "block, or its collection.",
                             not_from_python)
      .def_property_readonly(
          "shape", [](ConsumerTensor const& self) { return py::tuple(py::cast(self.shape())); },
          "The extents of the tensor.")
      .def_property_readonly(
          "dtype", [](ConsumerTensor const& self) { return numpy_dtype(self.dtype()); },
          "The element type, an ``np.dtype``; the name if NumPy has none.")
      .def_property_readonly(
          "device",
          [](ConsumerTensor const& self) {
            return py::make_tuple(static_cast<int>(self.device().device_type), self.device().device_id);
          },
          "(DLPack device type, device id).")
      .def_property_readonly("address", &ConsumerTensor::address,
                             "The address of the elements. The host must not touch an address on a device.")
      .def_property_readonly("versioned", &ConsumerTensor::is_versioned,
                             "True if the tensor came in DLPack's newer struct.")
      .def_property_readonly(
          "read_only", [](ConsumerTensor const& self) { return self.has_flag(DLPACK_FLAG_BITMASK_READ_ONLY); },
          "True if the producer marked the tensor read-only.")
      .def_property_readonly(
          "is_copy", [](ConsumerTensor const& self) { return self.has_flag(DLPACK_FLAG_BITMASK_IS_COPIED); },
          "True if the producer marked the tensor as a copy.")
      .def_property_readonly("dropped", &ConsumerTensor::is_dropped, "True if the tensor was dropped.")
      .def(
          "read",
          [](ConsumerTensor& self) {
            AllocationSiteScope const site;
            return self.read();
          },
          "Queues a copy into the consumer's own memory. On the host the copy is made at once.")
      .def("write", &ConsumerTensor::write, py::arg("value"),
           "Queues a write of all elements: `value`, as NumPy broadcasts it. ValueError if the tensor is read-only.")
      .def("add", &ConsumerTensor::add, py::arg("value"),
           "Queues the addition of a number to each element: a read, a sum, a write. ValueError if the tensor is "
           "read-only.")
      .def(
          "drop",
          [](ConsumerTensor& self, Parameter<bool> in_stream) {
            if (in_stream)
              self.drop_in_stream();
            else
              self.drop();
          },
          py::kw_only(), py::arg("in_stream") = false,
          R"(Drops the tensor now, even if work on it is still queued. A second call has no effect.

``in_stream``: in a host function behind that work, on a thread that does not belong to Python.)")
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](ConsumerTensor& self, py::handle, py::handle, py::handle) { self.drop(); });
  for (char const* const name : {"ConsumerReading", "ConsumerView"})
    m.attr(name).attr("__module__") = "memarray.testing";
  py::class_<ConsumerBacklog, std::shared_ptr<ConsumerBacklog>>(m, "ConsumerBacklog", not_from_python)
      .def("take",
           [](std::shared_ptr<ConsumerBacklog> const& self, py::capsule const& capsule, py::object const& stream) {
             AllocationSiteScope const site;
             return std::make_unique<ConsumerTensor>(capsule, stream, self);
           })
      .def("wait", &ConsumerBacklog::wait);
  m.def("make_consumer_backlog", [] { return std::make_shared<ConsumerBacklog>(); });
}

}  // namespace memarray::python
