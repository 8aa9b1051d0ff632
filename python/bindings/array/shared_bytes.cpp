#include "array/shared_bytes.hpp"

#include "export/buffer.hpp"
#include "gil.hpp"
#include "py_ref.hpp"
#include "view/view_type.hpp"

#include "state/segment.hpp"

#include <memarray/array/shared_memory.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/block_export.hpp>
#include <memarray/detail/state/segment_layout.hpp>

#include <vector>

namespace memarray::python {
namespace {

using detail::ViewCore;

struct Kept {
  detail::BlockExport memory;
  PyObject* owner;

  static void drop(void* object) noexcept {
    auto* const kept = static_cast<Kept*>(object);
    // Drop the export first: the owner may close the mapping.
    kept->memory = {};
    drop_object(kept->owner);
    delete kept;
  }
};

ViewCore bytes_view(PyObject* object) {
  ViewCore view = is_view(object) ? view_of(object) : ViewCore();
  if (view.dtype().itemsize != 1 || !view.is_contiguous()) throw TypeError("expected a BufferView of bytes");
  return view;
}

std::span<std::byte> span_of(ViewCore const& view) { return {view.data(), view.bytes()}; }

char const* held_word(Death::Held held) noexcept {
  if (held == Death::Held::write) return "write";
  return held == Death::Held::read ? "read" : "views";
}

}  // namespace

SharedSpan shared_span_of(PyObject* object, PyObject* keep) {
  ViewCore const view = bytes_view(object);
  view.check_writable("an array in shared memory");
  auto* const kept = new Kept{view.memory(), Py_NewRef(keep)};
  return {span_of(view), {kept, &Kept::drop}};
}

PyObject* shared_layout(PyObject* object) {
  ViewCore const view = bytes_view(object);
  detail::SegmentLayout const layout = detail::read_segment(span_of(view));
  PyObject* const shape = to_tuple(layout.shape.data(), static_cast<int>(layout.shape.size()));
  if (!shape) return nullptr;
  return Py_BuildValue("(sNK)", layout.dtype_name.c_str(), shape, static_cast<unsigned long long>(layout.uid));
}

PyObject* describe_segment(detail::ArrayState const& state) {
  detail::Segment const* const segment = state.lock().segment();
  if (!segment) return Py_NewRef(Py_None);
  return Py_BuildValue("(sK)", segment->name().c_str(), static_cast<unsigned long long>(segment->uid()));
}

PyObject* recover_shared(detail::ArrayState& state) {
  std::vector<Death> const deaths = detail::recover(state);
  PyRef result = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(deaths.size())));
  for (std::size_t i = 0; result && i < deaths.size(); ++i) {
    PyObject* const death = Py_BuildValue("(is)", deaths[i].pid, held_word(deaths[i].held));
    if (!death) return nullptr;
    PyList_SET_ITEM(result.get(), static_cast<Py_ssize_t>(i), death);
  }
  return result.release();
}

}  // namespace memarray::python
