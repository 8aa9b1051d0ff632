#pragma once

#include "import/view_import.hpp"
#include "view/view_object.hpp"

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

#include <utility>

namespace memarray::python {

bool init_import_tensor();
/// Imports a capsule, or an object with an exchange table or `__dlpack__`. Returns as `import_view` does.
int try_dlpack(PyObject* object, Copy copy, PyObject*& result);

/// Returns a new view of the result of `import`, or of its copy. Always calls `import`.
template <class Import>
PyObject* finish(PyObject* owner, Copy copy, Import const& import) {
  if (copy != Copy::always) return make_view_of(owner, import);
  return make_view(import().copy(), nullptr);
}

}  // namespace memarray::python
