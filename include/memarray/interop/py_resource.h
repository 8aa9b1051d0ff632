/// Pointers into Python objects that are valid until they are closed. C11 and C++; include Python.h first.
///
///     PyResource res;
///     char const* name = PyUnicode_AsUTF8Res(unicode, &res);
///     if (name == NULL) return NULL;  // the Python error is set, and `res` is as it was: do not close it
///     ...                             // whatever else happens to `unicode`, name is good
///     PyResource_Close(&res);
///
/// Functions that make a resource need the GIL. They import memarray if necessary, and fail with its ImportError.
///
/// Any thread may close a resource, with or without the GIL, also after the interpreter has ended. Closing acquires the
/// GIL where it needs it, and preserves a pending Python error. Once the interpreter is ending, Python objects are
/// leaked, like all that memarray drops.
///
/// A resource is a plain struct with one owner. It may be copied to another
/// place, and is then closed from there. Two threads must not close a resource at the same time.
///
/// Parameters carry the ownership words of `<memarray/interop/c_api.h>`. An object is borrowed (`__memarray_keep`). The
/// caller closes the resource in `res` (`__memarray_give`); the returned pointers are valid until then.
///
/// With `memarray.options.trace_resources = True` the process reports at its end, on stderr, which resources were never
/// closed.

#ifndef MEMARRAY_INTEROP_PY_RESOURCE_H
#define MEMARRAY_INTEROP_PY_RESOURCE_H

#if !defined(Py_PYTHON_H)
#error "memarray/interop/py_resource.h needs Python.h to be included before it"
#endif

#include <memarray/interop/c_api.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef MemArrayResource PyResource;

// NOLINTBEGIN(modernize-use-nullptr): as C has it
/// Closes the resource. Does nothing for a closed one, nor for one of zeros.
static inline void PyResource_Close(__memarray_take PyResource* res) {
  PyResource const closing = *res;
  // Empty before the callback runs, as that may run arbitrary code.
  res->close_func = NULL;
  res->data = NULL;
  if (closing.close_func) closing.close_func(closing.data);
}

/// Keeps `object`, a new reference that is taken in any case, and returns `pointer`. Returns NULL if either is NULL or
/// memarray cannot be imported.
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

/// Calls PyByteArray_AsString; fails with a TypeError for other objects. Keeps an export: resizing the bytearray, which
/// would move its bytes, is a BufferError until the resource is closed.
static inline char* PyByteArray_AsStringRes(__memarray_keep PyObject* self, __memarray_give PyResource* res) {
  PyObject* held;
  if (!PyByteArray_Check(self)) {
    PyErr_Format(PyExc_TypeError, "a bytearray is needed, not %R", self);
    return NULL;
  }
  held = PyMemoryView_FromObject(self);
  return (char*)memarray_keep_(held, held ? PyByteArray_AsString(self) : NULL, "PyByteArray_AsStringRes", res);
}

/// Calls PyCapsule_GetName. Keeps the capsule; code that renames it meanwhile must keep the old name valid. Returns
/// NULL without an error, and a closed resource, for a capsule without a name.
static inline char const* PyCapsule_GetNameRes(__memarray_keep PyObject* capsule, __memarray_give PyResource* res) {
  char const* const name = PyCapsule_GetName(capsule);
  if (name) return memarray_keep_(Py_NewRef(capsule), name, "PyCapsule_GetNameRes", res);
  if (!PyErr_Occurred()) {
    res->close_func = NULL;
    res->data = NULL;
  }
  return NULL;
}

/// Calls PyEval_GetFuncName. Keeps a copy of the name, as a function that is renamed drops the old name.
static inline char const* PyEval_GetFuncNameRes(__memarray_keep PyObject* func, __memarray_give PyResource* res) {
  char const* const name = PyEval_GetFuncName(func);
  PyObject* const held = name ? PyBytes_FromString(name) : NULL;
  return memarray_keep_(held, held ? PyBytes_AsString(held) : NULL, "PyEval_GetFuncNameRes", res);
}

/// Calls PyUnicode_AsUTF8AndSize; `psize` may be NULL. Keeps the object. On failure `*res` is unchanged, but `*psize`
/// may not be.
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

/// Returns the first element of a `memarray.MemArray` on the host, under a lease until the resource is closed. It is a
/// write lease if `writable`, else a read lease, under which the caller must not write. Returns NULL with LockError
/// (the array has another holder), BufferError (it is on a device) or TypeError.
static inline void* MemArray_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                          __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->array_as_pointer(obj, writable, res) : NULL;
}

/// Returns the first element of a `memarray.BufferView` of host memory, dense in C order. The resource is an export of
/// that memory and no lease. If the view outlives its array's lease, the array's policy for escaped views applies.
/// Returns NULL with BufferError (read-only but to be `writable`; on a device; not dense), ValueError (closed) or
/// TypeError.
static inline void* BufferView_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                            __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->view_as_pointer(obj, writable, res) : NULL;
}

// NOLINTEND(modernize-use-nullptr)

#if defined(__cplusplus)
}  // extern "C"

namespace memarray {

/// A resource that is closed by its destructor:
///
///     memarray::Resource res;
///     char const* name = PyUnicode_AsUTF8Res(unicode, res.fill());
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

  /// Closes the current resource and returns the place for a new one.
  [[nodiscard]] PyResource* fill() noexcept {
    close();
    return &_resource;
  }
  void close() noexcept { PyResource_Close(&_resource); }
  [[nodiscard]] bool is_open() const noexcept { return _resource.close_func != nullptr; }
  /// Returns the resource, which the caller must close from now on.
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
