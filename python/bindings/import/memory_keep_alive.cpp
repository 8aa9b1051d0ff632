#include "import/memory_keep_alive.hpp"

#include "gil.hpp"

#include <new>

namespace memarray::python {
namespace {

PyTypeObject* keep_alive_type = nullptr;

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto const* const keep_alive = reinterpret_cast<MemoryKeepAlive const*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(keep_alive->owner);
  // A view's export keeps the block alive. If only views hold it, no holder can be added while the collector runs.
  std::uint64_t const in_views = keep_alive->in_views.load();
  if (in_views == 0 || keep_alive->block.load()->holders() != in_views) return 0;
  // The block's reference to `self`, which no Python object reports.
  Py_VISIT(self);
  return 0;
}

// No tp_clear: the memory must outlive the block. Clearing the views breaks cycles.
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* const keep_alive = reinterpret_cast<MemoryKeepAlive*>(self);
  {
    ErrorAside const aside;
    PyBuffer_Release(&keep_alive->buffer);
    Py_CLEAR(keep_alive->owner);
  }
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("The keep-alive of memory that a view was made from.")},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {0, nullptr}};

PyType_Spec spec = {
    "memarray._core.MemoryKeepAlive", sizeof(MemoryKeepAlive), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_memory_keep_alive_type() {
  if (!keep_alive_type) keep_alive_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return keep_alive_type ? 0 : -1;
}

MemoryKeepAlive* make_memory_keep_alive() {
  MemoryKeepAlive* const keep_alive = PyObject_GC_New(MemoryKeepAlive, keep_alive_type);
  if (!keep_alive) return nullptr;
  keep_alive->owner = nullptr;
  keep_alive->buffer = {};
  new (&keep_alive->block) std::atomic<detail::Block*>(nullptr);
  new (&keep_alive->in_views) std::atomic<std::uint64_t>(0);
  return keep_alive;
}

void track_keep_alive(MemoryKeepAlive* keep_alive) noexcept {
  if (keep_alive->owner && PyType_IS_GC(Py_TYPE(keep_alive->owner))) PyObject_GC_Track(keep_alive);
}

detail::Block::KeepAlive keep_alive_for_block(MemoryKeepAlive* keep_alive) noexcept {
  return {keep_alive, &drop_object};
}

MemoryKeepAlive* memory_keep_alive_of(detail::Block const& block) noexcept {
  detail::Block::KeepAlive const keep_alive = block.keep_alive();
  if (keep_alive.drop != &drop_object || !Py_IS_TYPE(static_cast<PyObject*>(keep_alive.object), keep_alive_type))
    return nullptr;
  return PyObject_GC_IsTracked(static_cast<PyObject*>(keep_alive.object))
             ? static_cast<MemoryKeepAlive*>(keep_alive.object)
             : nullptr;
}

}  // namespace memarray::python
