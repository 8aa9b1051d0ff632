#pragma once

#include <memarray/array/import_dlpack.hpp>

#include <Python.h>

#include <optional>

namespace memarray::python {

/// Of an array that is NumPy's own `ndarray`, of no subclass, what its `__dlpack__` would say, read from the object
/// itself. Nothing, without an error, for all else, and for arrays with anything that DLPack would refuse or say
/// otherwise: ask those. Never imports NumPy. Throws as `import_layout`.
std::optional<detail::ForeignMemory> read_numpy_array(PyObject* object);

}  // namespace memarray::python
