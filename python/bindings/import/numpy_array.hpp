#pragma once

#include <memarray/detail/view/import_dlpack.hpp>

#include <Python.h>

#include <optional>

namespace memarray::python {

/// The fields of NumPy's array struct.
struct NumpyFields {
  void* data;
  StridedLayout::Extents shape;
  StridedLayout::Extents strides;  ///< in bytes; arbitrary for extents of 0 and 1
  DType const* dtype;
  bool writable;
  bool is_aligned;  ///< address and strides fit whole, aligned elements
};

/// Returns what `__dlpack__` of an array would export, read from the array object itself. The array must be exactly a
/// `numpy.ndarray`, not a subclass. Returns nothing, without an error, for every other object, and for arrays that
/// DLPack would refuse or export differently: use their protocols. Never imports NumPy.
std::optional<NumpyFields> look_at_numpy_array(PyObject* object);
/// Returns these fields of an array of a subclass that inherits NumPy's `__dlpack__`.
std::optional<NumpyFields> look_at_numpy_subclass(PyObject* object);
/// Returns the array's memory for an import, with a checked layout. Throws as `import_layout` does.
[[nodiscard]] detail::ForeignMemory memory_of(NumpyFields const& array);

}  // namespace memarray::python
