#pragma once

#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

// The import functions return true with `view` set to the object's memory, which the view keeps alive; false with the
// Python error set; or false without an error if the object does not offer the protocol.

/// Returns a keep-alive for a block: a new reference to a Python object, dropped on any thread.
[[nodiscard]] detail::Block::KeepAlive keep_alive_of(PyObject* object) noexcept;
/// Imports memory of an object that may refer to views of it, with a keep-alive that the garbage collector sees. False
/// with the Python error set; throws as `import_memory` does.
[[nodiscard]] bool import_collected(PyObject* object, detail::ForeignMemory const& memory, detail::ViewCore& view);

/// Imports over the buffer protocol (PEP 3118). `dtype`: read dense bytes as one dimension of this dtype; null: as the
/// buffer's format says.
bool import_buffer(PyObject* object, DType const* dtype, detail::ViewCore& view);
/// Imports over `__array_interface__`, version 3. Refuses memory with a mask.
bool import_array_interface(PyObject* object, detail::ViewCore& view);
/// Imports over `__cuda_array_interface__`. Refuses memory with a mask. Work on the view comes after the current work
/// of the interface's stream.
bool import_cuda_array_interface(PyObject* object, detail::ViewCore& view);

}  // namespace memarray::python
