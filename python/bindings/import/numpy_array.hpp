#pragma once

#include <memarray/detail/view/import_dlpack.hpp>

#include <Python.h>

#include <optional>

namespace memarray::python {

struct NumpyFields {
  void* data;
  StridedLayout::Extents shape;
  StridedLayout::Extents strides;  ///< in bytes; arbitrary for extents of 0 and 1
  DType const* dtype;
  bool writable;
  bool is_aligned;  ///< address and strides are aligned for the dtype
};

/// Returns the memory that `__dlpack__` of an exact `numpy.ndarray` would export. Empty for other objects, and for
/// arrays that DLPack would refuse or export differently. Never imports NumPy.
std::optional<NumpyFields> look_at_numpy_array(PyObject* object);
/// Like `look_at_numpy_array`, for a subclass that inherits NumPy's `__dlpack__`.
std::optional<NumpyFields> look_at_numpy_subclass(PyObject* object);
/// Returns the memory, with a checked layout. Throws as `import_layout` does.
[[nodiscard]] detail::ForeignMemory memory_of(NumpyFields const& array);

}  // namespace memarray::python
