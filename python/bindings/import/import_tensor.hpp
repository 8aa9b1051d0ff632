#pragma once

#include "import/view_import.hpp"
#include "view/view_object.hpp"

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

#include <utility>

namespace memarray::python {

/// Interns names. Call once, at import.
bool init_import_tensor();
/// Imports over DLPack: from a capsule, through the exchange table of the object's type, or by `__dlpack__`. 1:
/// `result` is the view, or null with the error set; 0: the object offers none of these.
int try_dlpack(PyObject* object, Copy copy, PyObject*& result);

/// Returns a new Python view of the result of `import`, or a copy of it if requested. Always calls `import`.
template <class Import>
PyObject* finish(PyObject* owner, Copy copy, Import const& import) {
  if (copy != Copy::always) return make_view_of(owner, import);
  return make_view(import().copy(), nullptr);
}

}  // namespace memarray::python
