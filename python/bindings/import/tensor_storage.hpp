#pragma once

#include "py_ref.hpp"

namespace memarray::python {

/// Interns names. Call once, at import.
bool init_tensor_storage();
/// Returns the storage object of a PyTorch tensor. It keeps the memory alive even if the tensor object gets another
/// storage (`t.data = …`, `t.set_()`, `module.double()`). Null without an error for every other object.
[[nodiscard]] PyRef storage_of(PyObject* object);

/// True if no Python code of a subclass overrides PyTorch, so that `storage_of` surely returned the tensor's storage.
[[nodiscard]] bool is_plain_tensor(PyObject* object);

}  // namespace memarray::python
