#pragma once

#include "py_ref.hpp"

namespace memarray::python {

bool init_tensor_storage();
/// Returns a PyTorch tensor's storage; null without an error for other objects. It keeps the memory alive even if the
/// tensor gets another storage (`t.data = …`, `t.set_()`).
[[nodiscard]] PyRef storage_of(PyObject* object);

/// True if no Python code overrides PyTorch: `storage_of` returned the tensor's own storage.
[[nodiscard]] bool is_plain_tensor(PyObject* object);

}  // namespace memarray::python
