#pragma once

#include <memarray/detail/view/import_dlpack.hpp>

#include <Python.h>

#include <optional>

namespace memarray::python {

/// What NumPy's own struct says of an array.
struct NumpyFields {
  void* data;
  StridedLayout::Extents shape;
  StridedLayout::Extents strides;  ///< in bytes; where nobody steps, anything
  DType const* dtype;
  bool writable;
  bool is_aligned;  ///< address and strides are those of whole, aligned elements
};

/// Of an array that is NumPy's own `ndarray`, of no subclass, what its `__dlpack__` would say, read from the object
/// itself. Nothing, without an error, for all else, and for arrays with anything that DLPack would refuse or say
/// otherwise: ask those. Never imports NumPy.
std::optional<NumpyFields> look_at_numpy_array(PyObject* object);
/// The same of an array of a subclass that has NumPy's own `__dlpack__`.
std::optional<NumpyFields> look_at_numpy_subclass(PyObject* object);
/// As memory to import, with a layout that was checked. Throws as `import_layout`.
[[nodiscard]] detail::ForeignMemory memory_of(NumpyFields const& array);

}  // namespace memarray::python
