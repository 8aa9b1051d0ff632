#include "view/view_type.hpp"

#include "export/exchange_api.hpp"
#include "import/view_import.hpp"
#include "python_errors.hpp"
#include "view/view_buffer.hpp"
#include "view/view_numbers.hpp"
#include "view/view_object.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace memarray::python {
namespace {

using detail::ViewCore;

PyTypeObject* view_type = nullptr;

PyObject* make_new(PyTypeObject*, PyObject* args, PyObject* keywords) {
  static char const* const names[] = {"obj", "copy", nullptr};
  PyObject* object = nullptr;
  PyObject* copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O", const_cast<char**>(names), &object, &copy)) return nullptr;
  return import_any(object, copy);
}

PyObject* repr(PyObject* self) {
  return guarded([&] {
    ViewCore const& core = core_of(self);
    char const* const kind = !core.is_open() ? "closed" : core.writable() ? "writable" : "read-only";
    return PyUnicode_FromFormat("<%s %s>", kind, core.describe().c_str());
  });
}

Py_ssize_t length(PyObject* self) {
  StridedLayout const& layout = layout_of(self);
  if (layout.ndim() > 0) return layout.extent(0);
  PyErr_SetString(PyExc_TypeError, "a view without dimensions has no length");
  return -1;
}

/// Counts a view's exports: its own, that for buffers after `close`, the pinned one.
std::uint64_t holds_of(PyView const& view) noexcept {
  return std::uint64_t{view.core.is_open()} + std::uint64_t{view.exported != nullptr} +
         std::uint64_t{view.rare && view.rare->pinned};
}

/// Uncounts exports before their drop: the collector must not count more than exist.
void uncount_holds(PyView& view, std::uint64_t holds) noexcept {
  if (view.keep_alive) view.keep_alive->in_views.fetch_sub(holds);
}

/// Drops an owner. `drop_keep_alive` bounds the recursion through owners that drop views.
void drop_owner(PyObject* owner) noexcept {
  if (!owner) return;
#if !defined(Py_GIL_DISABLED)
  if (Py_REFCNT(owner) > 1) return Py_DECREF(owner);
#endif
  detail::drop_keep_alive({owner, &drop_object});
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  // Needs no ViewScope: the collector has stopped all threads outside such scopes.
  PyView const& view = *view_in(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(view.owner);
  Py_VISIT(reinterpret_cast<PyObject*>(view.keep_alive));
  return 0;
}

int clear(PyObject* self) {
  close_view(self);
  return 0;
}

void dealloc(PyObject* self) {
  PyView* const view = view_in(self);
  if (view->is_tracked) PyObject_GC_UnTrack(self);
  if (view->weak_references) PyObject_ClearWeakRefs(self);
  // The drops may run any code.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  bool const pending = PyErr_Occurred() != nullptr;
  if (pending) PyErr_Fetch(&type, &value, &traceback);
  if (view->keep_alive) {
    uncount_holds(*view, holds_of(*view));
    drop_owner(reinterpret_cast<PyObject*>(view->keep_alive));
  }
  view->core.~ViewCore();
  delete view->rare;
  drop_owner(view->owner);
  if (pending || PyErr_Occurred()) PyErr_Restore(type, value, traceback);
  PyTypeObject* const own_type = Py_TYPE(self);
  own_type->tp_free(self);
  Py_DECREF(own_type);
}

int getbuffer(PyObject* self, Py_buffer* buffer, int flags) {
  buffer->obj = nullptr;
  return guarded([&] {
    ViewScope const scope(self);
    PyView& view = *view_in(self);
    view.core.check_host();
    if (!describe_buffer(self, view.core, buffer, flags)) return -1;
    ++view.buffers;
    return 0;
  });
}

void releasebuffer(PyObject* self, Py_buffer* buffer) {
  delete[] static_cast<Py_ssize_t*>(std::exchange(buffer->internal, nullptr));
  detail::BlockExport dropped;  // dropped after the scope ends
  ViewScope const scope(self);
  PyView& view = *view_in(self);
  if (--view.buffers != 0 || !view.exported) return;
  uncount_holds(view, 1);
  dropped = detail::BlockExport::counted(*std::exchange(view.exported, nullptr), view.is_export_writable);
}

/// Returns strides in elements, valid as long as the object. Throws as `check_exportable_strides` does.
std::int64_t* element_strides(PyObject* self) {
  ViewScope const scope(self);
  PyView* const view = view_in(self);
  detail::check_exportable_strides(view->core);
  std::int64_t* const strides = view->rare_part().element_strides;
  detail::write_element_strides(view->core, strides);
  return strides;
}

int export_tensor(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  if (!check_instance(object, view_type)) return -1;
  return guarded([&] {
    *out = export_over_table(core_of(static_cast<PyObject*>(object)));
    return 0;
  });
}

/// Fills in a borrowed tensor. Refuses read-only views, as `DLTensor` has no flag for them.
int look(void* object, DLTensor* out) {
  if (!check_instance(object, view_type)) return -1;
  return guarded([&] {
    auto* const self = static_cast<PyObject*>(object);
    ViewCore const& core = core_of(self);
    core.check_writable("a DLTensor");
    if (!core.dtype().has_dlpack()) throw BufferError("DLPack has no dtype for a " + core.describe());
    StridedLayout const& layout = layout_of(self);
    Device place;
    if (core.on_device()) {
      StreamHandle const stream = get_legacy_stream();
      core.export_to(&stream);
      place = core.block().exported_device();
    }
    *out = {.data = core.data(),
            .device = {place.type, place.id},
            .ndim = layout.ndim(),
            .dtype = core.dtype().dl,
            .shape = const_cast<std::int64_t*>(layout.shape().data()),
            .strides = element_strides(self),
            .byte_offset = 0};
    return 0;
  });
}

DLPackExchangeAPI exchange_api;

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyView, weak_references), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>(
         "BufferView(obj, *, copy=None)\n--\n\nA strided view of memory, without a copy. obj is a MemArray or a lease, "
         "memory of another library (DLPack), a buffer, or an object with __array_interface__. The view keeps the "
         "memory alive, is indexed and reshaped like a NumPy array, and computes with any strides. copy=True makes a "
         "private copy.")},
    {Py_tp_new, reinterpret_cast<void*>(make_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, view_methods},
    {Py_tp_getset, view_properties},
    {Py_tp_members, members},
    {Py_mp_subscript, reinterpret_cast<void*>(view_getitem)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(refuse_assignment)},
    {Py_mp_length, reinterpret_cast<void*>(length)},
    {Py_nb_bool, reinterpret_cast<void*>(view_bool)},
    {Py_nb_int, reinterpret_cast<void*>(view_int)},
    {Py_nb_float, reinterpret_cast<void*>(view_float)},
    {Py_nb_index, reinterpret_cast<void*>(view_as_index)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_sq_item, reinterpret_cast<void*>(view_row)},
    {Py_sq_contains, reinterpret_cast<void*>(view_contains)},
    {Py_tp_iter, reinterpret_cast<void*>(view_iter)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare_identity)},
    {Py_tp_hash, reinterpret_cast<void*>(hash_identity)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(getbuffer)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(releasebuffer)},
    {0, nullptr}};

PyType_Spec spec = {"memarray.BufferView", sizeof(PyView), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots};

}  // namespace

int add_view_type(PyObject* module) {
  if (!view_type) {
    view_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!view_type || !init_view_methods() || add_exchange_api(view_type, exchange_api, export_tensor, look) != 0)
      return -1;
  }
  return PyModule_AddObjectRef(module, "BufferView", reinterpret_cast<PyObject*>(view_type));
}

PyView* allocate_view(PyObject* owner) {
  // tp_alloc would zero the object.
  PyView* const self = PyObject_GC_New(PyView, view_type);
  if (!self) return nullptr;
  self->weak_references = nullptr;
  self->owner = Py_XNewRef(owner);
  self->keep_alive = nullptr;
  self->rare = nullptr;
  self->exported = nullptr;
  self->buffers = 0;
  self->is_export_writable = false;
  self->is_tracked = false;
#if defined(Py_GIL_DISABLED)
  self->mutex = {};
#endif
  return self;
}

void free_view(PyView* view) noexcept {
  Py_XDECREF(view->owner);
  PyObject_GC_Del(view);
  Py_DECREF(view_type);
}

void track_view(PyView* view) noexcept {
  // The new view's export keeps the block alive.
  detail::Block* const block = view->core.is_open() ? &view->core.block() : nullptr;
  MemoryKeepAlive* const keep_alive = block && block->is_foreign() ? memory_keep_alive_of(*block) : nullptr;
  if (keep_alive) {
    keep_alive->block = block;
    keep_alive->in_views.fetch_add(1);
    Py_INCREF(reinterpret_cast<PyObject*>(keep_alive));
    view->keep_alive = keep_alive;
  }
  view->is_tracked = keep_alive || view->owner;
  if (view->is_tracked) PyObject_GC_Track(view);
}

void close_view(PyObject* self) noexcept {
  PyObject *owner = nullptr, *keep_alive = nullptr;
  detail::BlockExport memory;
  {
    ViewScope const scope(self);
    PyView& view = *view_in(self);
    std::uint64_t const holds = holds_of(view);
    bool const stays = view.core.is_open() && view.buffers != 0;
    if (view.core.is_open() && !stays) uncount_holds(view, 1);
    memory = view.core.close();
    if (stays) {
      view.is_export_writable = memory.writable();
      view.exported = memory.release();
    }
    // Only a view without exports drops its keep-alive.
    if (holds_of(view) == 0 && holds != 0)
      keep_alive = reinterpret_cast<PyObject*>(std::exchange(view.keep_alive, nullptr));
    owner = std::exchange(view.owner, nullptr);
  }
  drop_owner(keep_alive);
  memory = {};
  drop_owner(owner);
}

PyObject* make_view(ViewCore core, PyObject* owner) {
  return make_view_of(owner, [&] { return std::move(core); });
}

PyObject* wrap_view(ViewCore const& core) noexcept {
  return guarded([&] { return make_view(core, nullptr); });
}

bool is_view(PyObject* object) noexcept { return Py_IS_TYPE(object, view_type); }

SeenView view_of(PyObject* object) noexcept { return core_of(object); }

ViewCore take_view(PyObject* object) noexcept {
  PyView& view = *view_in(object);
  if (view.core.is_open()) uncount_holds(view, 1);
  ViewCore taken = std::move(view.core);
  Py_DECREF(object);
  return taken;
}

PyObject* owner_of_view(PyObject* view) {
  ViewScope const scope(view);
  return Py_XNewRef(view_in(view)->owner);
}

}  // namespace memarray::python
