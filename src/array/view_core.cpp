#include <memarray/array/copy_decision.hpp>
#include <memarray/array/lease.hpp>
#include <memarray/array/strided_copy.hpp>
#include <memarray/array/strided_fill.hpp>
#include <memarray/array/strided_plan.hpp>
#include <memarray/array/view_core.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/memory/default_resource.hpp>

#include <array>
#include <utility>

namespace memarray::detail {
namespace {

BlockExport export_of(LeaseCore const& lease) { return BlockExport::counted(lease.begin_export(), lease.is_write()); }

}  // namespace

ViewCore::ViewCore(LeaseCore const& lease) : ViewCore(export_of(lease), lease.state()) {
  // The shape was that of the lease's memory if the lease is open still.
  lease.check_open();
}

ViewCore::ViewCore(BlockExport memory, State const& state) : _memory(std::move(memory)), _dtype(state.dtype()) {
  if (state.ndim() > StridedLayout::max_ndim)
    throw ValueError("a view has at most " + std::to_string(StridedLayout::max_ndim) + " dimensions, and this is a " +
                     state.describe());
  std::array<std::int64_t, StridedLayout::max_ndim> shape{};
  state.copy_shape(shape.data());
  _layout = StridedLayout::dense({shape.data(), static_cast<std::size_t>(state.ndim())}, _dtype.itemsize);
  _data = _memory.block().data();
}

ViewCore ViewCore::make(DType const& dtype, StridedLayout::Extents shape) {
  StridedLayout const layout = StridedLayout::dense(shape, dtype.itemsize);
  std::size_t const bytes = static_cast<std::size_t>(layout.size()) * dtype.itemsize;
  BlockPtr const block = Block::allocate(host_resource(), default_stream(), bytes, Block::Contents::uninitialized);
  return {BlockExport(*block, true), block->data(), dtype, layout};
}

void ViewCore::check_host() const {
  if (!is_host_accessible(memory_type()))
    throw BufferError("this memory is on " + to_string(device()) +
                      ", where views do not reach: move the array with move_memory(kDLCPU) first, or take the lease "
                      "with device='cpu'");
}

void ViewCore::check_writable(char const* what) const {
  check_open();
  if (!writable())
    throw BufferError(std::string(what) + " would write, and this " + describe() +
                      " is read-only: take a view of a write lease, or copy() it first");
}

std::string ViewCore::describe() const {
  return "view of " + std::string(_dtype.name_view()) + ", shape " + shape_text(_layout.shape());
}

ViewCore ViewCore::at(StridedLayout const& layout, std::int64_t offset) const {
  check_open();
  return {_memory, _data + offset, _dtype, layout};
}

ViewCore ViewCore::read_only() const {
  check_open();
  return {BlockExport(_memory.block(), false), _data, _dtype, _layout};
}

ViewCore ViewCore::reshaped(StridedLayout::Extents shape) const {
  StridedLayout layout = _layout;
  if (!layout.reshape(shape, _dtype.itemsize))
    throw ValueError("a " + describe() + " with strides " + shape_text(_layout.strides()) + " cannot be seen as " +
                     shape_text(shape) + " without a copy: call copy() first");
  return at(layout, 0);
}

ViewCore ViewCore::broadcast_to(StridedLayout::Extents shape) const {
  StridedLayout layout = _layout;
  layout.broadcast_to(shape);
  checked_bytes(layout.size(), _dtype.itemsize);
  // One element at many places is for readers.
  return ViewCore(at(layout, 0)).read_only();
}

ViewCore ViewCore::copy() const { return converted(_dtype, "copy of a "); }

ViewCore ViewCore::ensure_contiguous() const {
  check_open();
  if (!copies(decide_copy(true, is_contiguous(), false))) return *this;
  return converted(_dtype, "ensure_contiguous of a ");
}

ViewCore ViewCore::cast(DType const& dtype) const {
  check_open();
  if (!can_cast(_dtype, dtype))
    throw TypeError("cast converts within a kind of number ('same_kind'), not from " + std::string(_dtype.name_view()) +
                    " to " + std::string(dtype.name_view()));
  return converted(dtype, "cast of a ");
}

ViewCore ViewCore::converted(DType const& dtype, char const* why) const {
  // Its own export: the copy may take long, and somebody may close the view meanwhile.
  ViewCore const source = *this;
  source.check_open();
  ViewCore result = make(dtype, _layout.shape());
  detail::copy(StridedTarget{result._data, result._dtype, result._layout},
               StridedSource{source._data, source._dtype, source._layout});
  report_copy(static_cast<std::int64_t>(result.bytes()), why + describe());
  return result;
}

ViewCore ViewCore::reduced(Reduction reduction, AxisMask axes, bool keep) const {
  // Its own export, as above.
  BlockExport const kept = memory();
  ViewCore result = make(reduced_dtype(reduction, _dtype), reduced_layout(reduction, _dtype, _layout, axes).shape());
  reduce(reduction, StridedSource{_data, _dtype, _layout}, axes,
         StridedTarget{result._data, result._dtype, result._layout});
  if (keep)
    for (int d = 0; d < _layout.ndim(); ++d)
      if (((axes >> d) & 1U) != 0) result._layout.insert(d);
  return result;
}

DType const& ViewCore::reduce_all(Reduction reduction, std::byte* element) const {
  BlockExport const kept = memory();
  DType const& dtype = reduced_dtype(reduction, _dtype);
  reduce(reduction, StridedSource{_data, _dtype, _layout}, every_axis(_layout.ndim()),
         StridedTarget{element, dtype, StridedLayout()});
  return dtype;
}

void ViewCore::fill(void const* element) const {
  check_writable("fill");
  check_elements_apart("fill");
  ViewCore const target = *this;
  detail::fill(StridedTarget{target._data, target._dtype, target._layout}, element);
}

void ViewCore::add_index() const {
  check_writable("add_index");
  check_elements_apart("add_index");
  ViewCore const target = *this;
  detail::add_index(StridedTarget{target._data, target._dtype, target._layout});
}

void ViewCore::check_elements_apart(char const* what) const {
  if (_layout.may_overlap(_dtype.itemsize))
    throw ValueError(std::string(what) + " would write one element at several indices: this " + describe() +
                     " has strides " + shape_text(_layout.strides()) + "; copy() it first");
}

ViewCore view_of(State& state) {
  LeaseCore lease(StatePtr::share(&state), LeaseCore::Kind::read, {});
  lease.enter();
  ViewCore view(lease);
  view.check_host();
  return view;
}

AxisMask axis_mask(std::span<int const> axes, int ndim) {
  AxisMask mask = 0;
  for (int const given : axes) {
    int const axis = given < 0 ? given + ndim : given;
    if (axis < 0 || axis >= ndim)
      throw IndexError("axis " + std::to_string(given) + " is none of a view of " + std::to_string(ndim) +
                       " dimensions");
    if ((mask >> axis) & 1U) throw ValueError("axis " + std::to_string(given) + " is given twice");
    mask |= AxisMask{1} << axis;
  }
  return mask;
}

void ViewCore::throw_closed() { throw ValueError("the view is closed"); }

}  // namespace memarray::detail
