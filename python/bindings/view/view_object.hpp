#pragma once

#include "gil.hpp"
#include "import/memory_keeper.hpp"
#include "view/view_type.hpp"

#include <cstdint>
#include <new>
#include <utility>

namespace memarray::python {

/// Parts of a view that are rarely needed.
struct RarePart {
  detail::BlockExport pinned;                                  ///< for protocols that have no release
  std::int64_t element_strides[StridedLayout::max_ndim] = {};  ///< of the tensors that consumers look at
};

/// The Python object of a view, for the files that make up its type.
struct PyView {
  PyObject_HEAD PyObject* weak_references;
  PyObject* owner;
  MemoryKeeper* keeper;  // of the memory, where the garbage collector is to see it
  detail::ViewCore core;
  RarePart* rare;         // null until it is needed
  detail::Block* lent;    // an export that buffers keep of a view that was closed
  std::int32_t buffers;   // that are not released: each keeps the object
  bool lent_is_writable;  // that export
  bool is_tracked;        // by the garbage collector
#if defined(Py_GIL_DISABLED)
  PyMutex mutex;  // of all that changes: the dtype and the layout of `core` do not
#endif

  /// Throws `std::bad_alloc`.
  [[nodiscard]] RarePart& rare_part() {
    if (!rare) rare = new RarePart();
    return *rare;
  }
};
// Python allocates at most 512 bytes fast, with the collector's 16 bytes.
static_assert(sizeof(PyView) + 2 * sizeof(void*) <= 512);

[[nodiscard]] inline PyView* view_in(PyObject* self) noexcept { return reinterpret_cast<PyView*>(self); }

/// While it lives, no other thread changes the view. No Python code runs meanwhile.
class ViewScope {
 public:
#if defined(Py_GIL_DISABLED)
  explicit ViewScope(PyObject* self) noexcept : _mutex(view_in(self)->mutex) { PyMutex_Lock(&_mutex); }
  ~ViewScope() { PyMutex_Unlock(&_mutex); }
#else
  explicit ViewScope(PyObject*) noexcept {}
  ~ViewScope() {}  // not defaulted: else who only makes one has an unused variable
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
// What closing does not change.
[[nodiscard]] inline DType const& dtype_of_view(PyObject* self) noexcept { return view_in(self)->core.dtype(); }
[[nodiscard]] inline StridedLayout const& layout_of(PyObject* self) noexcept { return view_in(self)->core.layout(); }

/// A new view without its core, or null with the Python error set. `owner`: as for `make_view`.
[[nodiscard]] PyView* allocate_view(PyObject* owner);
/// Frees one that got no core.
void free_view(PyView* view) noexcept;

/// Shows a new view to the garbage collector, unless neither its owner nor the keeper of its memory can refer to it.
void collect_view(PyView* view) noexcept;
[[nodiscard]] inline bool may_refer_to_views(PyObject* owner) noexcept {
  return !owner || PyType_IS_GC(Py_TYPE(owner)) != 0;
}

/// Closes a view: it gives up its memory and its owner, except that its buffers keep the memory. Runs any code.
void close_view(PyObject* self) noexcept;

/// A new view of what `import` returns, which is made in its place. It is called in any case, as it takes something
/// over; what it throws is thrown.
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

/// A view of the same memory, with the same owner.
[[nodiscard]] inline PyObject* derived(PyObject* self, detail::ViewCore core) {
  PyObject* const owner = owner_of_view(self);
  PyObject* const result = make_view(std::move(core), owner);
  Py_XDECREF(owner);
  return result;
}

/// The first element as a Python number, brought from where it is.
[[nodiscard]] PyObject* first_element(detail::ViewCore const& view);

/// Keeps the memory as long as the object from now on, also when it is closed.
void pin(PyObject* self, detail::ViewCore const& core);
/// The dict of `__array_interface__`; the object keeps the memory from now on, also when it is closed.
PyObject* pinned_interface(PyObject* self);

/// Interns names; call once, with the GIL. False with the Python error set.
bool init_view_methods();

extern PyMethodDef view_methods[];
extern PyGetSetDef view_properties[];

}  // namespace memarray::python
