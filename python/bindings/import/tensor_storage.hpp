#pragma once

#include "py_ref.hpp"

namespace memarray::python {

bool init_tensor_storage();
/// Returns the storage of a PyTorch tensor; null without an error for other objects. It keeps the memory alive even if
/// the tensor gets another storage (`t.data = …`, `t.set_()`, `module.double()`).
[[nodiscard]] PyRef storage_of(PyObject* object);

/// True if no Python code overrides PyTorch, so `storage_of` surely returned the tensor's storage.
[[nodiscard]] bool is_plain_tensor(PyObject* object);

}  // namespace memarray::python
