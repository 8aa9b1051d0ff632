#include "python_errors.hpp"

#include "base/error_list.hpp"
#include "py_ref.hpp"
#include "shown.hpp"

#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>

#include <pybind11/pybind11.h>

#include <new>
#include <string>
#include <system_error>

namespace memarray::python {
namespace {

PyObject* error_type = nullptr;
PyObject* lock_error_type = nullptr;
PyObject* unsupported_type_error_type = nullptr;
PyObject* cuda_error_type = nullptr;
PyObject* out_of_memory_error_type = nullptr;

PyObject* make_type(char const* name, char const* doc, PyObject* first, PyObject* second = nullptr) {
  PyRef const bases = PyRef::steal(second ? PyTuple_Pack(2, first, second) : PyTuple_Pack(1, first));
  return bases ? PyErr_NewExceptionWithDoc(name, doc, bases.get(), nullptr) : nullptr;
}

void set_cuda_error(PyObject* type, CudaError const& error) {
  PyRef const value = PyRef::steal(PyObject_CallFunction(type, "s", error.what()));
  PyRef const code = PyRef::steal(value ? PyLong_FromLong(error.code()) : nullptr);
  PyRef const name = PyRef::steal(code ? PyUnicode_FromString(error.name().c_str()) : nullptr);
  if (name && PyObject_SetAttrString(value.get(), "code", code.get()) == 0 &&
      PyObject_SetAttrString(value.get(), "name", name.get()) == 0)
    PyErr_SetObject(type, value.get());
}

void set_error(Interrupted const& error) {
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
}
void set_error(LockError const& error) { PyErr_SetString(lock_error_type, error.what()); }
void set_error(UnsupportedTypeError const& error) { PyErr_SetString(unsupported_type_error_type, error.what()); }
void set_error(ValueError const& error) { PyErr_SetString(PyExc_ValueError, error.what()); }
void set_error(TypeError const& error) { PyErr_SetString(PyExc_TypeError, error.what()); }
void set_error(BufferError const& error) { PyErr_SetString(PyExc_BufferError, error.what()); }
void set_error(IndexError const& error) { PyErr_SetString(PyExc_IndexError, error.what()); }
void set_error(OverflowError const& error) { PyErr_SetString(PyExc_OverflowError, error.what()); }

// The errno selects the subclass of OSError.
void set_os_error(std::system_error const& error) {
  PyRef const arguments = PyRef::steal(Py_BuildValue("(is)", error.code().value(), error.what()));
  if (arguments) PyErr_SetObject(PyExc_OSError, arguments.get());
}

}  // namespace

int add_errors(PyObject* module) {
  if (!error_type) {
    error_type = make_type("memarray.Error", "Base class of the errors that memarray defines.", PyExc_RuntimeError);
    if (!error_type) return -1;
    lock_error_type = make_type(
        "memarray.LockError",
        "Another reader or writer holds the array, or a lease was used while it was not open. Nothing was changed.",
        error_type, PyExc_BufferError);
    unsupported_type_error_type =
        make_type("memarray.UnsupportedTypeError", "No instance of MemArray is registered for this dtype and rank.",
                  error_type, PyExc_TypeError);
    cuda_error_type =
        make_type("memarray.CudaError",
                  "A CUDA driver call failed. `code` is its CUresult, `name` the name of that code.", error_type);
    if (!cuda_error_type) return -1;
    out_of_memory_error_type =
        make_type("memarray.OutOfMemoryError", "Memory could not be allocated, even after the pools were trimmed.",
                  cuda_error_type, PyExc_MemoryError);
  }
  struct {
    char const* name;
    PyObject* type;
  } const types[] = {{"Error", error_type},
                     {"LockError", lock_error_type},
                     {"UnsupportedTypeError", unsupported_type_error_type},
                     {"CudaError", cuda_error_type},
                     {"OutOfMemoryError", out_of_memory_error_type}};
  for (auto const& [name, type] : types)
    if (!type || PyModule_AddObjectRef(module, name, type) != 0) return -1;
  return 0;
}

bool translate(std::exception_ptr const& error) noexcept {
  try {
    std::rethrow_exception(error);
#define MEMARRAY_RAISE(type, code) \
  }                                \
  catch (type const& e) {          \
    set_error(e);
    MEMARRAY_FOR_EACH_ERROR(MEMARRAY_RAISE)
#undef MEMARRAY_RAISE
  } catch (OutOfMemoryError const& e) {
    set_cuda_error(out_of_memory_error_type, e);
  } catch (CudaError const& e) {
    set_cuda_error(cuda_error_type, e);
  } catch (Error const& e) {
    PyErr_SetString(error_type, e.what());
  } catch (...) {
    return false;
  }
  return true;
}

bool ends_overload_search() noexcept {
  return !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(lock_error_type) ||
         PyErr_ExceptionMatches(cuda_error_type);
}

bool is_own_error(PyObject* type) noexcept { return type && PyErr_GivenExceptionMatches(type, error_type); }

void set_unknown_dtype(PyObject* dtype) noexcept {
  try {
    std::string names;
    for (DType const& known : shipped_dtypes()) names += (names.empty() ? "" : ", ") + std::string(known.name_view());
    PyErr_Format(unsupported_type_error_type, "memarray has no dtype %s. There are: %s", shown(dtype).c_str(),
                 names.c_str());
  } catch (std::bad_alloc const&) {
    PyErr_NoMemory();
  }
}

void raise_current() noexcept {
  std::exception_ptr const error = std::current_exception();
  if (translate(error)) return;
  try {
    std::rethrow_exception(error);
  } catch (pybind11::error_already_set& raised) {
    raised.restore();
  } catch (std::bad_alloc const&) {
    PyErr_NoMemory();
  } catch (std::system_error const& e) {
    set_os_error(e);
  } catch (std::exception const& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception of unknown type");
  }
}

}  // namespace memarray::python
