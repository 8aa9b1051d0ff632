#pragma once

#include "py_ref.hpp"

namespace memarray::python {

/// Interns names; once, at import.
bool init_tensor_storage();
/// The storage object of a PyTorch tensor, which keeps the memory also when the tensor object is given another storage
/// (`t.data = …`, `t.set_()`, `module.double()`). Null without an error for every other object.
[[nodiscard]] PyRef storage_of(PyObject* object);

/// True if no Python code of a subclass answers in place of PyTorch, so that the storage is surely the tensor's.
[[nodiscard]] bool is_plain_tensor(PyObject* object);

}  // namespace memarray::python
