#include "view/view_load.hpp"

#include "allocation_site.hpp"
#include "array/array_type.hpp"
#include "helpers.hpp"
#include "import/import_buffer.hpp"
#include "import/numpy_array.hpp"
#include "import/plain_memory.hpp"
#include "import/view_import.hpp"
#include "lease/lease_type.hpp"
#include "py_ref.hpp"
#include "python_errors.hpp"
#include "view/view_refusal.hpp"
#include "view/view_type.hpp"

#include "view/foreign_bools.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

namespace memarray::python {
namespace {

using detail::ArrayState;
using detail::has_invalid_bools;
using detail::LeaseCore;
using detail::ViewCore;
using detail::with_valid_bools;

/// The argument that a fitting overload could not acquire in the first pass, without `converts`. In the second pass
/// only that overload raises an error. Compared by identity.
thread_local PyObject const* to_be_tried_again = nullptr;

struct Argument {
  PyObject* object;
  ViewWanted const& wanted;
  bool converts;
  detail::ViewTarget view;

  /// Refuses the argument, with `TypeError` only under `converts`.
  [[nodiscard]] Loaded refuse(Given const& given, Misfits misfits) const {
    if (!converts || object == to_be_tried_again) return Loaded::no;
    raise_refusal(object, given, wanted, misfits);
    return Loaded::failed;
  }
};

/// Orders the function's device work after pending work and before the next user.
void export_to(detail::ViewParts const& parts) {
  detail::Use const use = parts.memory.writable() ? detail::Use::write : detail::Use::read;
  if (parts.stream) export_on(parts.memory.block(), *parts.stream, parts.stream->bound_stream, use, false);
}

Given given_by(ViewCore const& core) {
  core.check_open();
  return {core.dtype(),    core.layout().shape(), core.layout().strides(),
          core.writable(), core.on_device(),      core.device()};
}

/// True if structs of other libraries are aligned for the C++ type.
bool is_aligned_for(DType const& wanted, ViewCore const& core) {
  if (!wanted.is_struct() || core.layout().size() == 0) return true;
  auto bits = reinterpret_cast<std::uintptr_t>(core.data());
  for (int d = 0; d < core.layout().ndim(); ++d)
    if (core.layout().extent(d) > 1) bits |= static_cast<std::uintptr_t>(core.layout().stride(d));
  return (bits & (wanted.alignment - 1)) == 0;
}

Misfits misfits_of(Argument const& argument, Given const& given, ViewCore const& core) {
  Misfits const misfits = misfits_of(given, argument.wanted);
  if (misfits) return misfits;
  if (!is_aligned_for(argument.wanted.dtype, core)) return misfit_alignment;
  // A reader gets a copy with valid bools; a writer cannot.
  bool const must_not_be_read = argument.wanted.writable && has_invalid_bools(core);
  return must_not_be_read ? Misfits{misfit_bools} : 0;
}

Loaded load_view_of(Argument const& argument, ViewCore&& core) {
  Given const given = given_by(core);
  if (Misfits const misfits = misfits_of(argument, given, core)) return argument.refuse(given, misfits);
  if (!argument.wanted.writable && has_invalid_bools(core)) core = with_valid_bools(core, argument.wanted.dtype);
  if (core.on_device()) core.export_to(nullptr);
  argument.view.take(std::move(core));
  return Loaded::yes;
}

Loaded load_python_view(Argument const& argument, ViewCore const& core) {
  Given const given = given_by(core);
  if (Misfits const misfits = misfits_of(argument, given, core)) return argument.refuse(given, misfits);
  if (!argument.wanted.writable && has_invalid_bools(core))
    return load_view_of(argument, with_valid_bools(core, argument.wanted.dtype));
  detail::ViewParts parts{nullptr, core.memory(), core.stream_ptr(), core.data()};
  export_to(parts);
  argument.view.parts = std::move(parts);
  argument.view.set_layout(given.shape, given.strides, core.dtype().itemsize);
  return Loaded::yes;
}

StridedLayout layout_of(ArrayState const& state) {
  std::array<std::int64_t, StridedLayout::max_ndim> shape;
  auto const ndim = static_cast<std::size_t>(state.ndim());
  // No view has more dimensions; the rank alone is a misfit.
  if (ndim > shape.size()) return {};
  state.copy_shape(shape.data());
  return StridedLayout::dense({shape.data(), ndim}, state.dtype().itemsize);
}

/// A C++ lease, typed as bytes: the dtype was checked before.
template <class Byte>
class ArgumentLease : public TypedLease<Byte, 1> {
 public:
  explicit ArgumentLease(ArrayState& state)
      : TypedLease<Byte, 1>(state, LeaseOptions{}, std::source_location::current()) {}
};

/// Fills in the argument, which then holds the open lease.
template <class Lease>
Loaded load_leased(Argument const& argument, ArrayState& state, std::shared_ptr<Lease> lease) {
  // The array may have changed before the lease opened.
  StridedLayout const layout = layout_of(state);
  bool const writable = argument.wanted.writable;
  Given const given{state.dtype(),          layout.shape(), layout.strides(), writable, lease->stream_lease() != 0,
                    lease->block().device()};
  if (Misfits const misfits = misfits_of(given, argument.wanted)) return argument.refuse(given, misfits);
  detail::Block& block = lease->block();
  detail::ViewParts parts{nullptr, detail::BlockExport(block, writable), nullptr, block.data()};
  if (lease->stream_lease() != 0) parts.stream = detail::view_stream(block, lease->stream_lease());
  export_to(parts);
  parts.held = std::move(lease);
  argument.view.parts = std::move(parts);
  argument.view.set_layout(given.shape, given.strides, state.dtype().itemsize);
  return Loaded::yes;
}

Loaded load_array(Argument const& argument, ArrayState& state) {
  AllocationSiteScope const site;
  bool const writes = argument.wanted.writable;
  // Checked first, because opening a lease may copy.
  if (Misfits const misfits =
          misfits_of(state.dtype(), state.ndim(), true, state.residency().on_device(), argument.wanted)) {
    StridedLayout const layout = layout_of(state);
    return argument.refuse({state.dtype(), layout.shape(), layout.strides(), true, state.residency().on_device(),
                            state.residency().device()},
                           misfits);
  }
  if (detail::tracing()) {
    auto const kind = writes ? LeaseCore::Kind::write : LeaseCore::Kind::read;
    auto lease = std::make_shared<LeaseCore>(detail::ArrayStatePtr::share(&state), kind, LeaseOptions{});
    lease->enter(traced_location());
    return load_leased(argument, state, std::move(lease));
  }
  if (writes) return load_leased(argument, state, std::make_shared<ArgumentLease<std::byte>>(state));
  return load_leased(argument, state, std::make_shared<ArgumentLease<std::byte const>>(state));
}

/// Imports over other protocols after DLPack refused. False with that refusal pending.
bool import_otherwise(PyObject* object, ViewCore& core) {
  PyRef refusal = take_error();
  int found = guarded([&] { return static_cast<int>(import_buffer(object, nullptr, core)); });
  if (!clear_ordinary_error()) return false;
  if (found != 1) found = guarded([&] { return static_cast<int>(import_array_interface(object, core)); });
  if (!clear_ordinary_error()) return false;
  if (found != 1) {
    set_error(std::move(refusal));
    return false;
  }
  return true;
}

/// True if the pending error refuses an export. `LockError` does not.
bool is_refused() {
  PyObject* const type = PyErr_Occurred();
  return type == PyExc_BufferError || type == PyExc_TypeError;
}

void explain(Argument const& argument) {
  if (argument.converts && is_refused()) raise_refusal_because(argument.object, argument.wanted);
}

Loaded load_foreign(Argument const& argument) {
  AllocationSiteScope const site;
  if (!check_plain(argument.object)) {
    explain(argument);
    return Loaded::failed;
  }
  PyObject* imported = nullptr;
  if (guarded([&] { return import_view(argument.object, Copy::allowed, imported); }) == 0) return Loaded::no;
  ViewCore core;
  if (imported) {
    core = take_view(imported);
  } else if (!is_refused() || !import_otherwise(argument.object, core)) {
    explain(argument);
    return Loaded::failed;
  }
  return load_view_of(argument, std::move(core));
}

ViewCore view_of_numpy(PyObject* object, NumpyFields const& array) {
  detail::ForeignMemory const memory = memory_of(array);
  return detail::import_memory(memory, keep_alive_of(object));
}

/// Loads a NumPy array, the most common argument, without a block.
Loaded load_numpy(Argument const& argument, NumpyFields const& array) {
  Given const given{*array.dtype, array.shape, array.strides, array.writable, false, Device{}};
  if (Misfits const misfits = misfits_of(given, argument.wanted)) return argument.refuse(given, misfits);
  if (array.dtype->dl.code == kDLBool) return load_view_of(argument, view_of_numpy(argument.object, array));
  detail::Block::KeepAlive const keep_alive = keep_alive_of(argument.object);
  argument.view.parts.held = {keep_alive.object, keep_alive.drop};
  argument.view.parts.data = array.data;
  argument.view.set_layout(array.shape, array.strides, array.dtype->itemsize);
  return Loaded::yes;
}

Loaded load(Argument const& argument) {
  if (auto const array = look_at_numpy_array(argument.object); array && array->is_aligned)
    return load_numpy(argument, *array);
  if (is_view(argument.object)) return load_python_view(argument, view_of(argument.object));
  if (ArrayState* const state = unwrap_state(argument.object)) return load_array(argument, *state);
  if (LeaseCore const* const lease = lease_of(argument.object)) return load_view_of(argument, ViewCore(*lease));
  return load_foreign(argument);
}

}  // namespace

Loaded load_view(PyObject* object, ViewWanted const& wanted, bool converts, detail::ViewTarget view) noexcept {
  Loaded const loaded = guarded([&] { return load({object, wanted, converts, view}); });
  if (loaded != Loaded::failed) {
    if (loaded == Loaded::yes && object == to_be_tried_again) to_be_tried_again = nullptr;
    return loaded;
  }
  // For most errors, other overloads come first.
  bool const comes_later = !converts && !ends_overload_search();
  to_be_tried_again = comes_later ? object : nullptr;
  if (!comes_later) return Loaded::failed;
  PyErr_Clear();
  return Loaded::no;
}

}  // namespace memarray::python
