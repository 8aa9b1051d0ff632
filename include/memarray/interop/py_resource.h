/// Pointers into Python objects that stay good until they are closed. C11 and C++; include Python.h first.
///
///     PyResource res;
///     char const* name = PyUnicode_AsUTF8Res(unicode, &res);
///     if (name == NULL) return NULL;  // the Python error is set, and `res` is as it was: do not close it
///     ...                             // whatever else happens to `unicode`, name is good
///     PyResource_Close(&res);
///
/// Functions that make a resource need the GIL. They import memarray if need be, and fail with its ImportError.
///
/// A resource is closed by any thread, with or without the GIL, also after the interpreter: what needs the GIL takes
/// it, a pending Python error stays, and once the interpreter is ending Python objects are leaked, as all that memarray
/// drops. A resource is a plain struct with one owner: it may be copied to another place, from where it is closed then;
/// two threads may not close one at the same time.
///
/// Parameters carry the words of `<memarray/interop/c_api.h>`: an object is looked at (`__memarray_keep`), what is put
/// into `res` is the caller's to close (`__memarray_give`). The pointers that are returned are good until then.
///
/// With `memarray.options.trace_resources = True` the process tells at its end, on stderr, which were never closed.

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
/// Closes it. Nothing happens the second time, nor for one of zeros.
static inline void PyResource_Close(__memarray_take PyResource* res) {
  PyResource const closing = *res;
  // Empty before anything else runs, as that may be anybody's code.
  res->close_func = NULL;
  res->data = NULL;
  if (closing.close_func) closing.close_func(closing.data);
}

/// Keeps `object`, a new reference that is taken in any case. NULL if that or `pointer` is, or memarray is not there.
static inline char const* memarray_keep_(__memarray_take PyObject* object, char const* pointer, char const* what,
                                         __memarray_give PyResource* res) {
  if (object && pointer && memarray_import() == 0) {
    memarray_api->hold_object(object, what, res);
    return pointer;
  }
  Py_XDECREF(object);
  return NULL;
}

/// PyBytes_AsString. Keeps the object.
static inline char const* PyBytes_AsStringRes(__memarray_keep PyObject* op, __memarray_give PyResource* res) {
  char const* const pointer = PyBytes_AsString(op);
  return pointer ? memarray_keep_(Py_NewRef(op), pointer, "PyBytes_AsStringRes", res) : NULL;
}

/// PyByteArray_AsString; a TypeError for anything else. Its size cannot be changed until the resource is closed
/// (BufferError), as that would move its bytes.
static inline char* PyByteArray_AsStringRes(__memarray_keep PyObject* self, __memarray_give PyResource* res) {
  PyObject* held;
  if (!PyByteArray_Check(self)) {
    PyErr_Format(PyExc_TypeError, "a bytearray is needed, not %R", self);
    return NULL;
  }
  held = PyMemoryView_FromObject(self);
  return (char*)memarray_keep_(held, held ? PyByteArray_AsString(self) : NULL, "PyByteArray_AsStringRes", res);
}

/// PyCapsule_GetName. Keeps the capsule; whoever gives it another name while it is used cares for the old one. NULL
/// without an error, and a closed resource, for a capsule without a name.
static inline char const* PyCapsule_GetNameRes(__memarray_keep PyObject* capsule, __memarray_give PyResource* res) {
  char const* const name = PyCapsule_GetName(capsule);
  if (name) return memarray_keep_(Py_NewRef(capsule), name, "PyCapsule_GetNameRes", res);
  if (!PyErr_Occurred()) {
    res->close_func = NULL;
    res->data = NULL;
  }
  return NULL;
}

/// PyEval_GetFuncName. Keeps the name as it is now: a function may be given another, and then drops this one.
static inline char const* PyEval_GetFuncNameRes(__memarray_keep PyObject* func, __memarray_give PyResource* res) {
  char const* const name = PyEval_GetFuncName(func);
  PyObject* const held = name ? PyBytes_FromString(name) : NULL;
  return memarray_keep_(held, held ? PyBytes_AsString(held) : NULL, "PyEval_GetFuncNameRes", res);
}

/// PyUnicode_AsUTF8AndSize; `psize` may be NULL. Keeps the object, and is as it was on failure but for `*psize`.
static inline char const* PyUnicode_AsUTF8AndSizeRes(__memarray_keep PyObject* unicode, Py_ssize_t* psize,
                                                     __memarray_give PyResource* res) {
  char const* const utf8 = PyUnicode_AsUTF8AndSize(unicode, psize);
  return utf8 ? memarray_keep_(Py_NewRef(unicode), utf8, "PyUnicode_AsUTF8AndSizeRes", res) : NULL;
}

/// PyUnicode_AsUTF8. Keeps the object.
static inline char const* PyUnicode_AsUTF8Res(__memarray_keep PyObject* unicode, __memarray_give PyResource* res) {
  char const* const utf8 = PyUnicode_AsUTF8(unicode);
  return utf8 ? memarray_keep_(Py_NewRef(unicode), utf8, "PyUnicode_AsUTF8Res", res) : NULL;
}

/// The first element of a `memarray.MemArray` on the host, under a lease until the resource is closed: a write lease if
/// `writable`, else a read lease, through which nothing is written. NULL with LockError (somebody else holds it),
/// BufferError (it is on a device), TypeError.
static inline void* MemArray_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                          __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->array_as_pointer(obj, writable, res) : NULL;
}

/// The first element of a `memarray.BufferView` of host memory, dense in C order, which stays until the resource is
/// closed: an export, as any consumer's. It is no lease: what an array does with a view that outlives its lease is its
/// policy for escaped views. NULL with BufferError (read-only, though it is to be `writable`; on a device; not dense),
/// ValueError (closed), TypeError.
static inline void* BufferView_AsPointerRes(__memarray_keep PyObject* obj, int writable,
                                            __memarray_give PyResource* res) {
  return memarray_import() == 0 ? memarray_api->view_as_pointer(obj, writable, res) : NULL;
}

// NOLINTEND(modernize-use-nullptr)

#if defined(__cplusplus)
}  // extern "C"

namespace memarray {

/// Closes a resource when it ends:
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

  /// Where a function puts a resource; closes the one that was there.
  [[nodiscard]] PyResource* fill() noexcept {
    close();
    return &_resource;
  }
  void close() noexcept { PyResource_Close(&_resource); }
  [[nodiscard]] bool is_open() const noexcept { return _resource.close_func != nullptr; }
  /// The caller closes it from now on.
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
