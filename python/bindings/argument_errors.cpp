#include "argument_errors.hpp"

#include "python_errors.hpp"

#include <string>

namespace py = pybind11;

namespace memarray::python {
namespace {

using Function = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

constexpr int flags = METH_FASTCALL | METH_KEYWORDS;
Function dispatch = nullptr;  // pybind11's, the same for all functions

void shorten_error() {
  py::error_already_set error;
  std::string const words = py::str(error.value());
  std::size_t const end = words.find("\nInvoked with: ");
  if (end == std::string::npos)
    error.restore();
  else
    PyErr_SetString(PyExc_TypeError, words.substr(0, end).c_str());
}

PyObject* call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  PyObject* const result = dispatch(self, args, count, names);
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  return guarded([]() -> PyObject* {
    shorten_error();
    return nullptr;
  });
}

/// Returns null if the object is not a C function with these flags.
PyMethodDef* method_of(py::handle object) {
  PyObject* const function = py::detail::get_function(object).ptr();
  if (!PyCFunction_Check(function) || PyCFunction_GET_FLAGS(function) != flags) return nullptr;
  return reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
}

Function function_of(PyMethodDef const& method) {
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(method.ml_meth));
}

void shorten_errors_in(py::handle owner) {
  for (auto const& item : py::dict(owner.attr("__dict__"))) {
    py::object const attribute = py::getattr(owner, item.first, py::none());
    if (PyMethodDef* const method = method_of(attribute); method && function_of(*method) == dispatch)
      method->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
  }
}

}  // namespace

void shorten_argument_errors(py::module_ const& module) {
  py::cpp_function const example([] {});
  PyMethodDef const* const method = method_of(example);
  if (!method) return;  // a version of pybind11 that calls functions differently
  dispatch = function_of(*method);
  shorten_errors_in(module);
  for (auto const& item : py::dict(module.attr("__dict__")))
    if (PyType_Check(item.second.ptr())) shorten_errors_in(item.second);
}

}  // namespace memarray::python
