#pragma once

#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

// Imports set `view`, which keeps the memory alive. They return false without an error if the object lacks the
// protocol.

/// Returns a keep-alive with a new reference to a Python object, dropped on any thread.
[[nodiscard]] detail::Block::KeepAlive keep_alive_of(PyObject* object) noexcept;
/// Imports memory of an object that may refer to the view, with a keep-alive that the garbage collector sees. Throws as
/// `import_memory` does.
[[nodiscard]] bool import_collected(PyObject* object, detail::ForeignMemory const& memory, detail::ViewCore& view);

/// Imports over the buffer protocol (PEP 3118). A `dtype`, unless null, reads dense bytes as one dimension.
bool import_buffer(PyObject* object, DType const* dtype, detail::ViewCore& view);
/// Imports over `__array_interface__`, version 3. Refuses memory with a mask.
bool import_array_interface(PyObject* object, detail::ViewCore& view);
/// Like `import_array_interface`, for `__cuda_array_interface__`. Work on the view waits for the current work in the
/// interface's stream.
bool import_cuda_array_interface(PyObject* object, detail::ViewCore& view);

}  // namespace memarray::python
