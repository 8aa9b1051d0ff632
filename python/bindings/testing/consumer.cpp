// A DLPack consumer like those of other libraries. It knows the capsule and the driver, but not leases, blocks and
// their waits.

#include "testing/consumer.hpp"

#include "allocation_site.hpp"
#include "export/capsule_names.hpp"
#include "lease/lease_type.hpp"
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

void check(cu::Result result, char const* what) {
  if (result != 0) throw_driver_error(result, what);
}

/// The bytes of a tensor at the time when the consumer's stream reached the read.
class Reading {
 public:
  Reading(std::shared_ptr<ConsumerBacklog> backlog, std::shared_ptr<ConsumerPiece> piece, std::string bytes)
      : _backlog(std::move(backlog)), _piece(std::move(piece)), _bytes(std::move(bytes)) {}

  [[nodiscard]] bool is_over() const { return !_piece || _piece->is_over(); }
  [[nodiscard]] py::bytes result() {
    if (_piece) {
      _piece->wait();
      std::memcpy(_bytes.data(), _piece->data(), _bytes.size());
      _piece.reset();
    }
    return _bytes;
  }

 private:
  std::shared_ptr<ConsumerBacklog> _backlog;
  std::shared_ptr<ConsumerPiece> _piece;  // null: completed
  std::string _bytes;
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
  throw BufferError("this consumer does not know the dtype of the tensor");
}

/// A tensor that was taken out of its capsule.
class TakenTensor {
 public:
  TakenTensor(py::capsule const& capsule, py::object const& stream, std::shared_ptr<ConsumerBacklog> backlog)
      : _backlog(std::move(backlog)) {
    take(capsule.ptr());
    try {
      examine(stream);
    } catch (...) {
      drop();
      throw;
    }
  }
  ~TakenTensor() { drop(); }
  TakenTensor(TakenTensor const&) = delete;
  TakenTensor& operator=(TakenTensor const&) = delete;

  [[nodiscard]] std::vector<std::int64_t> const& shape() const noexcept { return _shape; }
  [[nodiscard]] DType const& dtype() const noexcept { return *_dtype; }
  [[nodiscard]] DLDevice device() const noexcept { return _device; }
  [[nodiscard]] std::uintptr_t address() const noexcept { return reinterpret_cast<std::uintptr_t>(_data); }
  [[nodiscard]] bool is_versioned() const noexcept { return _is_versioned; }
  [[nodiscard]] bool has_flag(std::uint64_t flag) const noexcept { return (_flags & flag) != 0; }
  [[nodiscard]] bool is_dropped() const noexcept { return _managed == nullptr; }

  std::unique_ptr<Reading> read() {
    check_kept();
    std::string bytes(_bytes, '\0');
    if (!_queue) std::memcpy(bytes.data(), _data, _bytes);
    if (!_queue || _bytes == 0) return std::make_unique<Reading>(_backlog, nullptr, std::move(bytes));
    auto piece = _backlog->begin(*_queue, _bytes);
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check(driver.cuMemcpyDtoHAsync(piece->data(), address(), _bytes, stream), "a consumer's read");
    });
    return std::make_unique<Reading>(_backlog, std::move(piece), std::move(bytes));
  }

  void write(std::string const& contents) {
    check_writable();
    if (contents.size() != _bytes) throw ValueError("a write replaces all of the tensor");
    if (!_queue) std::memcpy(_data, contents.data(), _bytes);
    if (!_queue || _bytes == 0) return;
    auto const piece = _backlog->begin(*_queue, _bytes);
    std::memcpy(piece->data(), contents.data(), _bytes);
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check(driver.cuMemcpyHtoDAsync(address(), piece->data(), _bytes, stream), "a consumer's write");
    });
  }

  void add(std::string const& element) {
    check_writable();
    if (element.size() != _dtype->itemsize) throw ValueError("add takes one element");
    std::size_t const count = _bytes / _dtype->itemsize;
    Add const add_all = add_of(*_dtype);
    if (!_queue) add_all(_data, count, element.data());
    if (!_queue || _bytes == 0) return;
    struct Sum {
      Add add;
      void* elements;
      std::size_t count;
      std::string element;
    };
    auto sum = std::make_unique<Sum>(Sum{add_all, nullptr, count, element});
    auto const piece = _backlog->begin(*_queue, _bytes);
    sum->elements = piece->data();
    piece->run([&](DriverTable const& driver, cu::Stream stream) {
      check(driver.cuMemcpyDtoHAsync(piece->data(), address(), _bytes, stream), "a consumer's read");
      cu::HostFunction const run = [](void* data) {
        std::unique_ptr<Sum> const todo(static_cast<Sum*>(data));
        todo->add(todo->elements, todo->count, todo->element.data());
      };
      check(driver.cuLaunchHostFunc(stream, run, sum.get()), "a consumer's sum");
      [[maybe_unused]] auto* const taken = sum.release();
      check(driver.cuMemcpyHtoDAsync(address(), piece->data(), _bytes, stream), "a consumer's write");
    });
  }

  void drop() noexcept {
    void* const managed = _managed.exchange(nullptr);
    if (managed && _deleter) _deleter(managed);
  }

  void drop_in_stream() {
    check_kept();
    if (!_queue) return drop();
    struct Last {
      void* managed;
      std::function<void(void*)> deleter;
    };
    auto last = std::make_unique<Last>(Last{_managed.load(), _deleter});
    cu::HostFunction const run = [](void* data) {
      std::unique_ptr<Last> const todo(static_cast<Last*>(data));
      if (todo->deleter) todo->deleter(todo->managed);
    };
    detail::ContextScope const scope(_queue->context);
    if (!scope.driver()) throw_last_error("a consumer's drop");
    RuntimeRelease const released;
    check(scope.driver()->cuLaunchHostFunc(*_queue->stream, run, last.get()), "a consumer's drop");
    [[maybe_unused]] auto* const taken = last.release();
    _managed = nullptr;
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

  // Takes the tensor and renames the capsule at once, so that nothing else deletes the tensor.
  void take(PyObject* capsule) {
    if (PyCapsule_IsValid(capsule, CapsuleName<DLManagedTensorVersioned>::offered))
      return own<DLManagedTensorVersioned>(capsule);
    if (PyCapsule_IsValid(capsule, CapsuleName<DLManagedTensor>::offered)) return own<DLManagedTensor>(capsule);
    throw ValueError("expected an unused DLPack capsule");
  }

  void examine(py::object const& stream) {
    if (_is_versioned && static_cast<DLManagedTensorVersioned*>(_managed.load())->version.major != DLPACK_MAJOR_VERSION)
      throw BufferError("this consumer does not know the tensor's version of DLPack");
    DLTensor const& tensor = _is_versioned ? static_cast<DLManagedTensorVersioned*>(_managed.load())->dl_tensor
                                           : static_cast<DLManagedTensor*>(_managed.load())->dl_tensor;
    _dtype = &dtype_of_tensor(tensor);
    _device = tensor.device;
    _data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
    _shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    std::int64_t dense = 1;
    for (std::size_t d = _shape.size(); d-- > 0; dense *= _shape[d])
      if (tensor.strides && _shape[d] > 1 && tensor.strides[d] != dense)
        throw BufferError("this consumer takes tensors in C order");
    _bytes = static_cast<std::size_t>(dense) * _dtype->itemsize;
    if (_device.device_type == kDLCPU || _device.device_type == kDLCUDAHost) return;
    if (_device.device_type != kDLCUDA && _device.device_type != kDLCUDAManaged && _device.device_type != kDLExtDev)
      throw BufferError("this consumer knows the host and CUDA devices");
    if (_device.device_type == kDLExtDev && !(driver() && driver()->is_simulated()))
      throw BufferError("this consumer knows an extension device only while it is simulated");
    StreamChoice choice;
    if (!read_stream(stream.ptr(), choice)) throw py::error_already_set();
    ContextHandle const context = get_primary_context(_device.device_id);
    if (!context) throw_last_error("a consumer's device");
    _queue = detail::bind_stream(choice.get(), context);
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
  DLDevice _device{};
  DType const* _dtype = nullptr;
  std::byte* _data = nullptr;
  std::size_t _bytes = 0;
  std::vector<std::int64_t> _shape;
  std::optional<BoundStream> _queue;  // empty: host memory
};

// Wraps a member function, so that simulated devices report its work with the line of the test.
template <class Result, class... Arguments>
auto here(Result (TakenTensor::*call)(Arguments...)) {
  return [call](TakenTensor& self, std::decay_t<Arguments> const&... arguments) {
    AllocationSiteScope const site;
    return (self.*call)(arguments...);
  };
}

}  // namespace

void add_consumer(py::module_& m) {
  py::class_<Reading>(m, "ConsumerReading")
      .def_property_readonly("is_over", &Reading::is_over)
      .def("result", &Reading::result);
  py::class_<TakenTensor>(m, "ConsumerTensor")
      .def_property_readonly("shape", [](TakenTensor const& self) { return py::tuple(py::cast(self.shape())); })
      .def_property_readonly("dtype_name", [](TakenTensor const& self) { return self.dtype().name; })
      .def_property_readonly("typestr", [](TakenTensor const& self) { return self.dtype().typestr; })
      .def_property_readonly("device",
                             [](TakenTensor const& self) {
                               return py::make_tuple(static_cast<int>(self.device().device_type),
                                                     self.device().device_id);
                             })
      .def_property_readonly("address", &TakenTensor::address)
      .def_property_readonly("versioned", &TakenTensor::is_versioned)
      .def_property_readonly("read_only",
                             [](TakenTensor const& self) { return self.has_flag(DLPACK_FLAG_BITMASK_READ_ONLY); })
      .def_property_readonly("is_copy",
                             [](TakenTensor const& self) { return self.has_flag(DLPACK_FLAG_BITMASK_IS_COPIED); })
      .def_property_readonly("dropped", &TakenTensor::is_dropped)
      .def("read", here(&TakenTensor::read))
      .def("write", here(&TakenTensor::write))
      .def("add", here(&TakenTensor::add))
      .def("drop", &TakenTensor::drop)
      .def("drop_in_stream", &TakenTensor::drop_in_stream);
  py::class_<ConsumerBacklog, std::shared_ptr<ConsumerBacklog>>(m, "ConsumerBacklog")
      .def(py::init())
      .def("take",
           [](std::shared_ptr<ConsumerBacklog> const& self, py::capsule const& capsule, py::object const& stream) {
             AllocationSiteScope const site;
             return std::make_unique<TakenTensor>(capsule, stream, self);
           })
      .def("wait", &ConsumerBacklog::wait);
}

}  // namespace memarray::python
