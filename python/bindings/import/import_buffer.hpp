#pragma once

#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

namespace memarray::python {

// Both: true, and `view` is of `object`'s memory, which it keeps; false with the Python error set; or false without
// one, as the object does not offer that.

/// Keeps a Python object until nobody looks at its memory: a new reference, dropped on any thread.
[[nodiscard]] detail::Block::Keeper keeper_of(PyObject* object) noexcept;
/// Memory of an object that may refer to views of it: the garbage collector sees what keeps it. False with the Python
/// error set; throws as `import_memory` does.
[[nodiscard]] bool import_collected(PyObject* object, detail::ForeignMemory const& memory, detail::ViewCore& view);

/// The buffer protocol. `dtype`: how dense bytes are to be read, as one dimension; null: as the buffer says.
bool import_buffer(PyObject* object, DType const* dtype, detail::ViewCore& view);
/// `__array_interface__`, version 3, of memory without a mask.
bool import_array_interface(PyObject* object, detail::ViewCore& view);
/// `__cuda_array_interface__`, likewise; what is done with the view comes after what is in its stream now.
bool import_cuda_array_interface(PyObject* object, detail::ViewCore& view);

}  // namespace memarray::python
