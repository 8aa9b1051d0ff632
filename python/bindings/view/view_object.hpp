#pragma once

#include "gil.hpp"
#include "import/memory_keep_alive.hpp"
#include "view/view_type.hpp"

#include <cstdint>
#include <new>
#include <utility>

namespace memarray::python {

/// Members that most views never need.
struct RarePart {
  detail::BlockExport pinned;                                  ///< set by `pin`
  std::int64_t element_strides[StridedLayout::max_ndim] = {};  ///< of borrowed `DLTensor`s
};

/// The Python object of a view.
struct PyView {
  PyObject_HEAD PyObject* weak_references;
  PyObject* owner;
  MemoryKeepAlive* keep_alive;  // of imported memory, if the garbage collector tracks it; else null
  detail::ViewCore core;
  RarePart* rare;           // null until needed
  detail::Block* exported;  // export for buffers that outlive `close`, or null
  std::int32_t buffers;     // buffers not yet released; each keeps this object alive
  bool is_export_writable;
  bool is_tracked;  // by the garbage collector
#if defined(Py_GIL_DISABLED)
  PyMutex mutex;  // protects all members but the constant dtype and layout of `core`
#endif

  /// Throws `std::bad_alloc`.
  [[nodiscard]] RarePart& rare_part() {
    if (!rare) rare = new RarePart();
    return *rare;
  }
};
// CPython's small-object allocator takes up to 512 bytes, including the collector's header of 16.
static_assert(sizeof(PyView) + 2 * sizeof(void*) <= 512);

[[nodiscard]] inline PyView* view_in(PyObject* self) noexcept { return reinterpret_cast<PyView*>(self); }

/// A scope in which no other thread changes the view. The scope must not run Python code.
class ViewScope {
 public:
#if defined(Py_GIL_DISABLED)
  explicit ViewScope(PyObject* self) noexcept : _mutex(view_in(self)->mutex) { PyMutex_Lock(&_mutex); }
  ~ViewScope() { PyMutex_Unlock(&_mutex); }
#else
  explicit ViewScope(PyObject*) noexcept {}
  ~ViewScope() {}  // not defaulted: compilers would warn of unused variables
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
// Closing changes neither the dtype nor the layout.
[[nodiscard]] inline DType const& dtype_of_view(PyObject* self) noexcept { return view_in(self)->core.dtype(); }
[[nodiscard]] inline StridedLayout const& layout_of(PyObject* self) noexcept { return view_in(self)->core.layout(); }

/// Allocates a Python view, whose core the caller constructs. Returns null with the Python error set.
[[nodiscard]] PyView* allocate_view(PyObject* owner);
/// Frees a view whose core was never constructed.
void free_view(PyView* view) noexcept;

/// Registers a view with the garbage collector if it has an owner or a tracked keep-alive. Call it only if
/// `may_refer_to_views(owner)`.
void collect_view(PyView* view) noexcept;
/// True if the owner can be part of a reference cycle. Without an owner, the keep-alive can be.
[[nodiscard]] inline bool may_refer_to_views(PyObject* owner) noexcept {
  return !owner || PyType_IS_GC(Py_TYPE(owner)) != 0;
}

/// Releases a view's memory and owner; open buffers keep the memory alive. May run any Python code.
void close_view(PyObject* self) noexcept;

/// Returns a new Python view of the result of `import`. Always calls `import`, which takes over a resource, and passes
/// on its exceptions.
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

/// Returns a new Python view with the owner of `self`.
[[nodiscard]] inline PyObject* derived(PyObject* self, detail::ViewCore core) {
  PyObject* const owner = owner_of_view(self);
  PyObject* const result = make_view(std::move(core), owner);
  Py_XDECREF(owner);
  return result;
}

/// Returns the first element as a Python number, from any device.
[[nodiscard]] PyObject* first_element(detail::ViewCore const& view);

/// Keeps the memory alive until the Python object is destroyed, even after `close()`, for protocols without a release.
void pin(PyObject* self, detail::ViewCore const& core);
/// Pins the memory, and returns the dict of `__array_interface__`.
PyObject* pinned_interface(PyObject* self);

bool init_view_methods();

extern PyMethodDef view_methods[];
extern PyGetSetDef view_properties[];

}  // namespace memarray::python
