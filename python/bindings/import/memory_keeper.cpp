#include "import/memory_keeper.hpp"

#include "gil.hpp"

#include <new>

namespace memarray::python {
namespace {

PyTypeObject* keeper_type = nullptr;

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto const* const keeper = reinterpret_cast<MemoryKeeper const*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(keeper->owner);
  // The export of a view keeps the block alive. Once views are the only holders, only a view can make another holder. A
  // view needs the interpreter for it, which the collector has now.
  std::uint64_t const in_views = keeper->in_views.load();
  if (in_views == 0 || keeper->block.load()->holders() != in_views) return 0;
  // The block's reference, reported on behalf of the views.
  Py_VISIT(self);
  return 0;
}

// No tp_clear: the memory must outlive the block. Views drop their exports when they are cleared.
void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* const keeper = reinterpret_cast<MemoryKeeper*>(self);
  {
    ErrorAside const aside;
    PyBuffer_Release(&keeper->buffer);
    Py_CLEAR(keeper->owner);
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
    "memarray._core.MemoryKeeper", sizeof(MemoryKeeper), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_memory_keeper_type() {
  if (!keeper_type) keeper_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return keeper_type ? 0 : -1;
}

MemoryKeeper* make_memory_keeper() {
  MemoryKeeper* const keeper = PyObject_GC_New(MemoryKeeper, keeper_type);
  if (!keeper) return nullptr;
  keeper->owner = nullptr;
  keeper->buffer = {};
  new (&keeper->block) std::atomic<detail::Block*>(nullptr);
  new (&keeper->in_views) std::atomic<std::uint64_t>(0);
  return keeper;
}

void collect_keeper(MemoryKeeper* keeper) noexcept {
  if (keeper->owner && PyType_IS_GC(Py_TYPE(keeper->owner))) PyObject_GC_Track(keeper);
}

detail::Block::Keeper keeper_for_block(MemoryKeeper* keeper) noexcept { return {keeper, &drop_object}; }

MemoryKeeper* memory_keeper_of(detail::Block const& block) noexcept {
  detail::Block::Keeper const keeper = block.keeper();
  if (keeper.drop != &drop_object || !Py_IS_TYPE(static_cast<PyObject*>(keeper.object), keeper_type)) return nullptr;
  return PyObject_GC_IsTracked(static_cast<PyObject*>(keeper.object)) ? static_cast<MemoryKeeper*>(keeper.object)
                                                                      : nullptr;
}

}  // namespace memarray::python
