// The array that the nanobind and pybind11 peers export: memory, a lock word and hand-written DLPack capsules.
#pragma once

#include <Python.h>

#include <dlpack/dlpack.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace exported {

using Memory = std::shared_ptr<std::vector<float>>;

struct Array {
  explicit Array(std::int64_t size) : memory(std::make_shared<std::vector<float>>(size)) {}

  void enter() {
    long expected = -1;
    if (!word.compare_exchange_strong(expected, 0)) throw std::runtime_error("held");
    open = true;
  }

  void exit() {
    open = false;
    word.store(-1, std::memory_order_release);
  }

  void check_open() const {
    if (!open) throw std::runtime_error("the lease is not open");
  }

  Memory memory;
  std::atomic<long> word{-1};
  std::atomic<bool> open{false};
};

template <class Tensor>
inline constexpr char const* capsule_name = std::is_same_v<Tensor, DLManagedTensor> ? "dltensor" : "dltensor_versioned";

template <class Tensor>
struct Box {
  Tensor tensor{};
  std::int64_t shape;
  std::int64_t stride = 1;
  Memory memory;
};

template <class Tensor>
void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, capsule_name<Tensor>)) return;
  auto* tensor = static_cast<Tensor*>(PyCapsule_GetPointer(capsule, capsule_name<Tensor>));
  tensor->deleter(tensor);
}

template <class Tensor>
PyObject* make_capsule(Memory const& memory) {
  auto* box = new Box<Tensor>{.shape = static_cast<std::int64_t>(memory->size()), .memory = memory};
  DLTensor& view = box->tensor.dl_tensor;
  view.data = memory->data();
  view.device = {kDLCPU, 0};
  view.ndim = 1;
  view.dtype = {kDLFloat, 32, 1};
  view.shape = &box->shape;
  view.strides = &box->stride;
  box->tensor.manager_ctx = box;
  box->tensor.deleter = [](Tensor* self) { delete static_cast<Box<Tensor>*>(self->manager_ctx); };
  if constexpr (std::is_same_v<Tensor, DLManagedTensorVersioned>) {
    box->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  }
  PyObject* capsule = PyCapsule_New(&box->tensor, capsule_name<Tensor>, destroy_capsule<Tensor>);
  if (capsule == nullptr) delete box;
  return capsule;
}

/// Returns a new capsule, versioned if `max_version` allows it.
inline PyObject* make_capsule(Array const& array, PyObject* max_version) {
  array.check_open();
  bool const versioned = PyTuple_Check(max_version) && PyLong_AsLong(PyTuple_GET_ITEM(max_version, 0)) >= 1;
  return versioned ? make_capsule<DLManagedTensorVersioned>(array.memory) : make_capsule<DLManagedTensor>(array.memory);
}

}  // namespace exported
