#pragma once

#include "gil.hpp"
#include "import/memory_keep_alive.hpp"
#include "view/view_type.hpp"

#include <cstdint>
#include <new>
#include <utility>

namespace memarray::python {

/// Members of a view that most views never need.
struct RarePart {
  detail::BlockExport pinned;                                  ///< for protocols without a release
  std::int64_t element_strides[StridedLayout::max_ndim] = {};  ///< of borrowed tensors
};

/// The Python object of a view. For the files that implement its type only.
struct PyView {
  PyObject_HEAD PyObject* weak_references;
  PyObject* owner;
  MemoryKeepAlive* keep_alive;  // keep-alive of the memory that the garbage collector sees; else null
  detail::ViewCore core;
  RarePart* rare;           // null until needed
  detail::Block* exported;  // export that open buffers keep after the view was closed, or null
  std::int32_t buffers;     // buffers not yet released; each keeps this object alive
  bool is_export_writable;  // whether `exported` is writable
  bool is_tracked;          // by the garbage collector
#if defined(Py_GIL_DISABLED)
  PyMutex mutex;  // protects all members but the dtype and layout of `core`, which never change
#endif

  /// Throws `std::bad_alloc`.
  [[nodiscard]] RarePart& rare_part() {
    if (!rare) rare = new RarePart();
    return *rare;
  }
};
// Python's small-object allocator takes up to 512 bytes, which include the collector's 16.
static_assert(sizeof(PyView) + 2 * sizeof(void*) <= 512);

[[nodiscard]] inline PyView* view_in(PyObject* self) noexcept { return reinterpret_cast<PyView*>(self); }

/// A scope in which no other thread changes the view. It must not run Python code.
class ViewScope {
 public:
#if defined(Py_GIL_DISABLED)
  explicit ViewScope(PyObject* self) noexcept : _mutex(view_in(self)->mutex) { PyMutex_Lock(&_mutex); }
  ~ViewScope() { PyMutex_Unlock(&_mutex); }
#else
  explicit ViewScope(PyObject*) noexcept {}
  ~ViewScope() {}  // not defaulted: a scope object would be an unused variable
#endif
  ViewScope(ViewScope const&) = delete;
  ViewScope& operator=(ViewScope const&) = delete;

#if defined(Py_GIL_DISABLED)
 private:
  PyMutex& _mutex;
#endif
};

[[nodiscard]] inline SeenView core_of(PyObject* self) noexcept {
  ViewScope const scope(self);
  return view_in(self)->core;
}
// The dtype and the layout, which closing does not change.
[[nodiscard]] inline DType const& dtype_of_view(PyObject* self) noexcept { return view_in(self)->core.dtype(); }
[[nodiscard]] inline StridedLayout const& layout_of(PyObject* self) noexcept { return view_in(self)->core.layout(); }

/// Allocates a Python view without its core. Null with the Python error set. `owner`: as for `make_view`.
[[nodiscard]] PyView* allocate_view(PyObject* owner);
/// Frees a view whose core was never constructed.
void free_view(PyView* view) noexcept;

/// Registers a new view with the garbage collector, unless neither its owner nor the keep-alive of its memory can refer
/// to it.
void collect_view(PyView* view) noexcept;
[[nodiscard]] inline bool may_refer_to_views(PyObject* owner) noexcept {
  return !owner || PyType_IS_GC(Py_TYPE(owner)) != 0;
}

/// Closes a view: releases its memory and its owner. Open buffers of the view keep the memory. May run any Python code.
void close_view(PyObject* self) noexcept;

/// Returns a new Python view of the result of `import`, which is constructed in place. Always calls `import`, which
/// takes ownership of a resource, and passes on its exceptions. Null with the Python error set.
template <class Import>
PyObject* make_view_of(PyObject* owner, Import const& import) {
  PyView* const view = allocate_view(owner);
  if (!view) {
    ErrorAside const aside;
    static_cast<void>(import());
    return nullptr;
  }
  try {
    new (&view->core) detail::ViewCore(import());
  } catch (...) {
    free_view(view);
    throw;
  }
  if (may_refer_to_views(owner)) collect_view(view);
  return reinterpret_cast<PyObject*>(view);
}

/// Returns a Python view of `core` with the owner of `self`.
[[nodiscard]] inline PyObject* derived(PyObject* self, detail::ViewCore core) {
  PyObject* const owner = owner_of_view(self);
  PyObject* const result = make_view(std::move(core), owner);
  Py_XDECREF(owner);
  return result;
}

/// Returns the first element as a Python number, copied to the host if need be.
[[nodiscard]] PyObject* first_element(detail::ViewCore const& view);

/// Keeps the memory of a view alive until the Python object is destroyed, even after `close()`.
void pin(PyObject* self, detail::ViewCore const& core);
/// Returns the dict of `__array_interface__`, and pins the memory to the object.
PyObject* pinned_interface(PyObject* self);

/// Interns names. Call once, with the GIL. False with the Python error set.
bool init_view_methods();

extern PyMethodDef view_methods[];
extern PyGetSetDef view_properties[];

}  // namespace memarray::python
