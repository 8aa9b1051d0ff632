#include "view_load.hpp"

#include "array_type.hpp"
#include "errors.hpp"
#include "import_buffer.hpp"
#include "lease_type.hpp"
#include "made_here.hpp"
#include "view_import.hpp"
#include "view_refusal.hpp"
#include "view_type.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace memarray::python {
namespace {

using detail::LeaseCore;
using detail::State;
using detail::ViewCore;

/// One argument on its way to a function.
struct Argument {
  PyObject* object;
  ViewWanted const& wanted;
  bool converts;

  [[nodiscard]] Loaded refuse(Given const& given, Misfits misfits) const {
    if (!converts) return Loaded::no;
    raise_refusal(object, given, wanted, misfits);
    return Loaded::failed;
  }
};

Given given_by(ViewCore const& view) {
  return {view.dtype(), view.layout(), view.writable(), view.on_device(), view.device()};
}

/// The shape of a moment; of too many dimensions none.
StridedLayout layout_of(State const& state) {
  std::array<std::int64_t, StridedLayout::max_ndim> shape{};
  auto const ndim = static_cast<std::size_t>(state.ndim());
  if (ndim > shape.size()) return {};
  state.copy_shape(shape.data());
  return StridedLayout::dense({shape.data(), ndim}, state.dtype().itemsize);
}

Loaded finish(Argument const& argument, detail::CheckedView& view) {
  view.core.check_open();
  if (Misfits const misfits = misfits_of(given_by(view.core), argument.wanted)) {
    Loaded const refused = argument.refuse(given_by(view.core), misfits);
    view = {};
    return refused;
  }
  // Work of the function's comes after what is there now, and before whoever is next.
  if (view.core.on_device()) view.core.lend(nullptr);
  return Loaded::yes;
}

/// Takes the lease, which the view then holds.
Loaded load_array(Argument const& argument, State& state, detail::CheckedView& view) {
  StridedLayout const layout = layout_of(state);
  Given const given{state.dtype(), layout, true, state.on_device(), state.device()};
  if (Misfits const misfits = misfits_of(given, argument.wanted)) return argument.refuse(given, misfits);
  auto const kind = argument.wanted.writable ? LeaseCore::Kind::write : LeaseCore::Kind::read;
  auto const lease = std::make_shared<LeaseCore>(detail::StatePtr::share(&state), kind, LeaseOptions{});
  lease->enter(python_location());
  view = {ViewCore(*lease), lease};
  // It may have been resized or moved in between.
  return finish(argument, view);
}

Loaded load_lease(Argument const& argument, LeaseCore const& lease, detail::CheckedView& view) {
  lease.check_open();
  view.core = ViewCore(lease);
  return finish(argument, view);
}

/// What DLPack refuses to say may be said otherwise: other dtypes, strides that are no whole elements, read-only by
/// producers of the old struct.
bool import_otherwise(PyObject* object, ViewCore& core) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  int found = guarded([&] { return static_cast<int>(import_buffer(object, nullptr, core)); });
  PyErr_Clear();
  if (found != 1) found = guarded([&] { return static_cast<int>(import_array_interface(object, core)); });
  PyErr_Clear();
  if (found != 1) {
    PyErr_Restore(type, value, traceback);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return true;
}

/// Whether the pending error says that memory cannot be lent so; `LockError`, which is one, too, is another matter.
bool is_refused() {
  PyObject* const type = PyErr_Occurred();
  return type == PyExc_BufferError || type == PyExc_TypeError;
}

Loaded load_foreign(Argument const& argument, detail::CheckedView& view) {
  PyObject* imported = nullptr;
  if (guarded([&] { return import_view(argument.object, false, imported); }) == 0) return Loaded::no;
  if (imported) {
    view.core = std::move(*view_of(imported));
    Py_DECREF(imported);
  } else if (!is_refused() || !import_otherwise(argument.object, view.core)) {
    if (argument.converts && is_refused()) raise_refusal_because(argument.object, argument.wanted);
    return Loaded::failed;
  }
  return finish(argument, view);
}

Loaded load(Argument const& argument, detail::CheckedView& view) {
  MadeHere const site;
  if (State* const state = unwrap_state(argument.object)) return load_array(argument, *state, view);
  if (LeaseCore const* const lease = lease_of(argument.object)) return load_lease(argument, *lease, view);
  if (ViewCore const* const given = view_of(argument.object)) {
    view.core = *given;
    return finish(argument, view);
  }
  return load_foreign(argument, view);
}

}  // namespace

Loaded load_view(PyObject* object, ViewWanted const& wanted, bool converts, detail::CheckedView& view) noexcept {
  Loaded const loaded = guarded([&] { return load({object, wanted, converts}, view); });
  // Other overloads come first; but not after Ctrl-C.
  if (loaded != Loaded::failed || converts || !PyErr_ExceptionMatches(PyExc_Exception)) return loaded;
  PyErr_Clear();
  return Loaded::no;
}

}  // namespace memarray::python
