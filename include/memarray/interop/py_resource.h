/// @file
/// Pointers into Python objects, valid until they are closed, in C11 and C++.
///
///     PyResource res;
///     char const* name = PyUnicode_AsUTF8Res(unicode, &res);
///     if (name == NULL) return NULL;  // with a Python error; `res` is unchanged: do not close it
///     ...                             // `name` is valid, whatever happens to `unicode`
///     PyResource_Close(&res);
///
/// Making a resource needs the GIL. It imports memarray if necessary, and may fail with its ImportError.
///
/// Any thread may close a resource, with or without the GIL, but not two at once. Closing preserves a pending Python
/// error, and leaks Python objects once the interpreter is ending. The owner may copy a resource, and then closes the
/// copy instead.
///
/// `memarray.options.trace_resources = True` reports unclosed resources on stderr at exit.

#ifndef MEMARRAY_INTEROP_PY_RESOURCE_H
#define MEMARRAY_INTEROP_PY_RESOURCE_H

#if !defined(Py_PYTHON_H)
#error "memarray/interop/py_resource.h needs Python.h to be included before it"
#endif

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

/// A pointer into a Python object, with its release.
typedef MemArrayResource PyResource;

// NOLINTBEGIN(modernize-use-nullptr): as C has it
/// Closes the resource; ignores a closed or zeroed one.
static inline void PyResource_Close(__memarray_take PyResource* res) {
  PyResource const closing = *res;
  // Cleared first: the callback may run arbitrary code.
  res->close_func = NULL;
  res->data = NULL;
  if (closing.close_func) closing.close_func(closing.data);
}

/// Takes over `object`; returns `pointer`, or NULL if either is NULL or the import fails.
static inline char const* memarray_keep_(__memarray_take PyObject* object, char const* pointer, char const* what,
                                         __memarray_give PyResource* res) {
  if (object && pointer && memarray_import() == 0) {
    memarray_api->hold_object(object, what, res);
    return pointer;
  }
  Py_XDECREF(object);
  return NULL;
}

/// Calls PyBytes_AsString. Keeps the object.
static inline char const* PyBytes_AsStringRes(__memarray_keep PyObject* op, __memarray_give PyResource* res) {
  char const* const pointer = PyBytes_AsString(op);
  return pointer ? memarray_keep_(Py_NewRef(op), pointer, "PyBytes_AsStringRes", res) : NULL;
}

/// Calls PyByteArray_AsString; a TypeError for other objects. Keeps an export: resizing is a BufferError until the
/// close.
static inline char* PyByteArray_AsStringRes(__memarray_keep PyObject* self, __memarray_give PyResource* res) {
  PyObject* held;
  char* pointer;
  if (!PyByteArray_Check(self)) {
    PyErr_Format(PyExc_TypeError, "a bytearray is needed, not %.100s", Py_TYPE(self)->tp_name);
    return NULL;
  }
  held = PyMemoryView_FromObject(self);
  pointer = held ? PyByteArray_AsString(self) : NULL;
  return memarray_keep_(held, pointer, "PyByteArray_AsStringRes", res) ? pointer : NULL;
}

/// Calls PyCapsule_GetName. Keeps the capsule, but not a name that is replaced. No name: NULL without an error, and a
/// closed resource.
static inline char const* PyCapsule_GetNameRes(__memarray_keep PyObject* capsule, __memarray_give PyResource* res) {
  char const* const name = PyCapsule_GetName(capsule);
  if (name) return memarray_keep_(Py_NewRef(capsule), name, "PyCapsule_GetNameRes", res);
  if (!PyErr_Occurred()) {
    res->close_func = NULL;
    res->data = NULL;
  }
  return NULL;
}

/// Calls PyEval_GetFuncName. Keeps a copy of the name, as renaming drops the original.
static inline char const* PyEval_GetFuncNameRes(__memarray_keep PyObject* func, __memarray_give PyResource* res) {
  char const* const name = PyEval_GetFuncName(func);
  PyObject* const held = name ? PyBytes_FromString(name) : NULL;
  return memarray_keep_(held, held ? PyBytes_AsString(held) : NULL, "PyEval_GetFuncNameRes", res);
}

/// Calls PyUnicode_AsUTF8AndSize; `psize` may be NULL, and `*psize` may change on failure. Keeps the object.
static inline char const* PyUnicode_AsUTF8AndSizeRes(__memarray_keep PyObject* unicode, Py_ssize_t* psize,
                                                     __memarray_give PyResource* res) {
  char const* const utf8 = PyUnicode_AsUTF8AndSize(unicode, psize);
  return utf8 ? memarray_keep_(Py_NewRef(unicode), utf8, "PyUnicode_AsUTF8AndSizeRes", res) : NULL;
}

/// Calls PyUnicode_AsUTF8. Keeps the object.
static inline char const* PyUnicode_AsUTF8Res(__memarray_keep PyObject* unicode, __memarray_give PyResource* res) {
  char const* const utf8 = PyUnicode_AsUTF8(unicode);
  return utf8 ? memarray_keep_(Py_NewRef(unicode), utf8, "PyUnicode_AsUTF8Res", res) : NULL;
}

/// Returns the first element of a `memarray.MemArray` on the host, under a write lease if `writable`, else a read
/// lease. NULL with LockError, BufferError (on a device) or TypeError.
static inline void* MemArray_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                          __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->array_as_pointer(obj, writable, res) : NULL;
}

/// Returns the first element of a `memarray.BufferView` of host memory, dense in C order. Exports it without a lease,
/// under the policy for escaped views. NULL with BufferError (read-only if `writable`; on a device; not dense),
/// ValueError (closed) or TypeError.
static inline void* BufferView_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                            __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->view_as_pointer(obj, writable, res) : NULL;
}

// NOLINTEND(modernize-use-nullptr)

#if defined(__cplusplus)
}  // extern "C"

namespace memarray {

/// A resource that its destructor closes.
class Resource {
 public:
  Resource() noexcept = default;
  Resource(Resource&& other) noexcept : _resource(other.release()) {}
  Resource& operator=(Resource&& other) noexcept {
    if (this != &other) {
      close();
      _resource = other.release();
    }
    return *this;
  }
  ~Resource() { close(); }

  /// Closes the resource; returns the place for a new one.
  [[nodiscard]] PyResource* fill() noexcept {
    close();
    return &_resource;
  }
  void close() noexcept { PyResource_Close(&_resource); }
  [[nodiscard]] bool is_open() const noexcept { return _resource.close_func != nullptr; }
  /// Returns the resource, for the caller to close.
  [[nodiscard]] PyResource release() noexcept {
    PyResource const released = _resource;
    _resource = {};
    return released;
  }

 private:
  PyResource _resource{};
};

}  // namespace memarray
#endif
#endif  // MEMARRAY_INTEROP_PY_RESOURCE_H
