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

struct PyView {
  PyObject_HEAD PyObject* weak_references;
  PyObject* owner;
  MemoryKeepAlive* keep_alive;  // of imported memory, if the collector tracks it; else null
  detail::ViewCore core;
  RarePart* rare;           // null until needed
  detail::Block* exported;  // export for buffers that outlive `close`, or null
  std::int32_t buffers;     // open buffers; each keeps this object alive
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
// CPython's small-object allocator takes up to 512 bytes, with the collector's header.
static_assert(sizeof(PyView) + 2 * sizeof(void*) <= 512);

[[nodiscard]] inline PyView* view_in(PyObject* self) noexcept { return reinterpret_cast<PyView*>(self); }

/// A scope in which no other thread changes the view. Must not run Python code.
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

/// Allocates a view, whose core the caller constructs.
[[nodiscard]] PyView* allocate_view(PyObject* owner);
/// Frees a view whose core was never constructed.
void free_view(PyView* view) noexcept;

/// Tracks a view with an owner or a tracked keep-alive in the garbage collector. Requires `may_refer_to_views(owner)`.
void track_view(PyView* view) noexcept;
/// True if the owner, or without one the keep-alive, can be part of a reference cycle.
[[nodiscard]] inline bool may_refer_to_views(PyObject* owner) noexcept {
  return !owner || PyType_IS_GC(Py_TYPE(owner)) != 0;
}

/// Releases memory and owner; open buffers keep the memory alive. May run Python code.
void close_view(PyObject* self) noexcept;

/// Returns a new view of the result of `import`. Always calls `import`, which takes over a resource; passes on its
/// exceptions.
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
  if (may_refer_to_views(owner)) track_view(view);
  return reinterpret_cast<PyObject*>(view);
}

/// Returns a new view with the owner of `self`.
[[nodiscard]] inline PyObject* derived(PyObject* self, detail::ViewCore core) {
  PyObject* const owner = owner_of_view(self);
  PyObject* const result = make_view(std::move(core), owner);
  Py_XDECREF(owner);
  return result;
}

/// Returns the first element as a Python number, from any device.
[[nodiscard]] PyObject* first_element(detail::ViewCore const& view);

/// Keeps the memory alive until the object is destroyed, even after `close()`, for protocols without a release.
void pin(PyObject* self, detail::ViewCore const& core);
/// Pins the memory, and returns the dict of `__array_interface__`.
PyObject* pinned_interface(PyObject* self);

bool init_view_methods();

extern PyMethodDef view_methods[];
extern PyGetSetDef view_properties[];

}  // namespace memarray::python
