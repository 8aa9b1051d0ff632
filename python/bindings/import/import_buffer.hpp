#pragma once

#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

// Imports set `view`, which keeps the memory alive. False without an error: the object lacks the protocol.

/// Returns a keep-alive with a new reference, which any thread may drop.
[[nodiscard]] detail::Block::KeepAlive keep_alive_of(PyObject* object) noexcept;
/// Imports with a keep-alive that the garbage collector sees, as `object` may refer to the view. Throws as
/// `import_memory` does.
[[nodiscard]] bool import_collected(PyObject* object, detail::ForeignMemory const& memory, detail::ViewCore& view);

/// Imports over the buffer protocol (PEP 3118). A non-null `dtype` reads dense bytes as one dimension.
bool import_buffer(PyObject* object, DType const* dtype, detail::ViewCore& view);
/// Imports over `__array_interface__`, version 3. Refuses memory with a mask.
bool import_array_interface(PyObject* object, detail::ViewCore& view);
/// Like `import_array_interface`, for `__cuda_array_interface__`. Work on the view waits for current work in the
/// interface's stream.
bool import_cuda_array_interface(PyObject* object, detail::ViewCore& view);

}  // namespace memarray::python
