#pragma once

#include "import/view_import.hpp"
#include "view/view_object.hpp"

#include <memarray/detail/view/view_core.hpp>

#include <Python.h>

#include <utility>

namespace memarray::python {

/// Interns names; once, at import.
bool init_import_tensor();
/// A view of what an object lends over DLPack: of a capsule, over the table of its type, or by `__dlpack__`. 1:
/// `result` is the view, or null with the error set; 0: it has none of these.
int try_dlpack(PyObject* object, Copy copy, PyObject*& result);

/// A new Python view of what `import` returns, or a copy if that was asked for. `import` is called in any case.
template <class Import>
PyObject* finish(PyObject* owner, Copy copy, Import const& import) {
  if (copy != Copy::always) return make_view_of(owner, import);
  return make_view(import().copy(), nullptr);
}

}  // namespace memarray::python
