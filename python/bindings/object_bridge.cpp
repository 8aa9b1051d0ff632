#include "object_bridge.hpp"

#include "array/array_type.hpp"
#include "import/view_import.hpp"
#include "lease/lease_type.hpp"
#include "python_errors.hpp"
#include "report_logging.hpp"
#include "shown.hpp"
#include "view/view_type.hpp"

#include "interop/objects.hpp"

#include <Python.h>

namespace memarray::python {
namespace {

PyObject* as_object(void* object) noexcept { return static_cast<PyObject*>(object); }

/// Sets `TypeError` for NULL, unless the function that returned it set an error.
bool check_given(void* object, char const* wanted) noexcept {
  if (!object && !PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "expected %s, got NULL", wanted);
  return object != nullptr;
}

detail::ArrayState* array_in(void* object) noexcept {
  if (!check_given(object, "a memarray.MemArray")) return nullptr;
  detail::ArrayState* const state = unwrap_state(as_object(object));
  if (!state) PyErr_Format(PyExc_TypeError, "a memarray.MemArray is needed, not %s", shown(as_object(object)).c_str());
  return state;
}

bool view_in(void* object, detail::ViewCore& view) noexcept {
  if (!check_given(object, "a memarray.BufferView")) return false;
  if (is_view(as_object(object))) {
    view = view_of(as_object(object));
    return true;
  }
  PyErr_Format(PyExc_TypeError, "a memarray.BufferView is needed, not %s: memarray.BufferView(obj) makes one",
               shown(as_object(object)).c_str());
  return false;
}

void* show_array(detail::ArrayState& state) noexcept {
  return guarded([&] { return wrap_state(detail::ArrayStatePtr::share(&state)); });
}

void* show_view(detail::ViewCore const& view) noexcept { return wrap_view(view); }

bool import_view(void* object, detail::ViewCore& view) noexcept {
  if (!check_given(object, "an object that exports memory")) return false;
  PyObject* const imported = import_any(as_object(object), Py_None);
  if (!imported) return false;
  view = take_view(imported);
  return true;
}

detail::ObjectBridge const bridge = {
    .array_in = array_in,
    .view_in = view_in,
    .show_array = show_array,
    .show_view = show_view,
    .import_view = import_view,
    .line_of_caller = line_of_caller,
    .log_reports = log_reports,
};

}  // namespace

void install_object_bridge() noexcept { detail::set_object_bridge(bridge); }

}  // namespace memarray::python
