#include "foreign_bools.hpp"
#include "strided/strided_copy.hpp"
#include "strided/strided_fill.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/strided/strided_plan.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/memory/default_resource.hpp>
#include <memarray/state/lease.hpp>
#include <memarray/view/array_view.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace memarray::detail {
namespace {

BlockExport export_of(LeaseCore const& lease) { return BlockExport::counted(lease.add_export(), lease.is_write()); }

}  // namespace

ViewCore::ViewCore(LeaseCore const& lease) : ViewCore(export_of(lease), lease.state(), lease.stream_lease()) {
  // The shape belongs to the leased memory only while the lease is open.
  lease.check_open();
}

ViewCore::ViewCore(BlockExport memory, ArrayState const& state, StreamDependencies::Lease stream_lease)
    : _memory(std::move(memory)), _dtype(state.dtype()) {
  if (state.ndim() > StridedLayout::max_ndim)
    throw ValueError("a view has at most " + std::to_string(StridedLayout::max_ndim) + " dimensions, and this is a " +
                     state.describe());
  std::array<std::int64_t, StridedLayout::max_ndim> shape{};
  state.copy_shape(shape.data());
  _layout = StridedLayout::dense({shape.data(), static_cast<std::size_t>(state.ndim())}, _dtype.itemsize);
  _data = _memory.block().data();
  if (stream_lease != 0) _stream = view_stream(_memory.block(), stream_lease);
}

ViewCore ViewCore::make(DType const& dtype, StridedLayout::Extents shape) {
  StridedLayout const layout = StridedLayout::dense(shape, dtype.itemsize);
  std::size_t const bytes = static_cast<std::size_t>(layout.size()) * dtype.itemsize;
  BlockPtr const block = Block::allocate({}, bytes, Block::Contents::uninitialized);
  return {BlockExport(*block, true), block->data(), dtype, layout};
}

ViewCore ViewCore::make_here(DType const& dtype, StridedLayout::Extents shape) const {
  if (!on_device()) return make(dtype, shape);
  return make_on(block().uses()->memory_ptr(), _stream->bound_stream, dtype, shape);
}

ViewCore ViewCore::make_on(DeviceMemoryPtr const& memory, BoundStream const& bound_stream, DType const& dtype,
                           StridedLayout::Extents shape) {
  StridedLayout const layout = StridedLayout::dense(shape, dtype.itemsize);
  std::size_t const bytes = static_cast<std::size_t>(layout.size()) * dtype.itemsize;
  ViewCore result({}, nullptr, dtype, layout, std::make_shared<ViewStream>(ViewStream{bound_stream}));
  BlockPtr const block = allocate_for(result.describe(), memory, bound_stream, bytes);
  result._memory = BlockExport(*block, true);
  result._data = block->data();
  return result;
}

void ViewCore::run(StridedJob const& job, ViewCore const& target, ViewCore const* source) {
  if (!target.on_device()) return job.run_on_host();
  submit(job, target._stream->bound_stream, target.block(), source ? &source->block() : nullptr);
}

void ViewCore::check_is(DType const& dtype, int ndim) const {
  check_open();
  if (_dtype != dtype || _layout.ndim() != ndim)
    throw TypeError("expected " + std::string(dtype.name_view()) + " with " + std::to_string(ndim) +
                    " dimensions, got a " + describe());
}

void ViewCore::throw_not_on_host() const {
  check_open();
  throw BufferError("this " + describe() + " is on " + to_string(device()) +
                    ", where the host does not reach: copy it with to_device('cpu') first");
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
  return {_memory, _data + offset, _dtype, layout, _stream};
}

ViewCore ViewCore::read_only() const {
  check_open();
  return {BlockExport(_memory.block(), false), _data, _dtype, _layout, _stream};
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
  // Several indices share an element.
  return ViewCore(at(layout, 0)).read_only();
}

ViewCore ViewCore::copy(char const* why) const { return converted(_dtype, why); }

ViewCore ViewCore::ensure_contiguous() const {
  check_open();
  if (is_contiguous()) return *this;
  return converted(_dtype, "ensure_contiguous of a ");
}

ViewCore ViewCore::cast(DType const& dtype) const {
  check_open();
  if (!can_cast(_dtype, dtype))
    throw TypeError("cast converts within a kind of number ('same_kind'), not from " + std::string(_dtype.name_view()) +
                    " to " + std::string(dtype.name_view()));
  return converted(dtype, "cast of a ");
}

ViewCore ViewCore::astype(DType const& dtype) const {
  check_open();
  check_copy(dtype, _dtype);
  return converted(dtype, "astype of a ");
}

ViewCore ViewCore::converted(DType const& dtype, char const* why) const {
  // Another thread may close the view during the copy.
  ViewCore const source = *this;
  source.check_open();
  // Imported bools may be any byte; those of a copy are 0 or 1.
  bool const is_foreign = block().is_foreign() && source.dtype() == dtype;
  ViewCore result = source.make_here(dtype, _layout.shape());
  auto const copy_as = [&](DType const& from, DType const& to, std::size_t offset = 0) {
    run({.kind = StridedJob::Kind::copy,
         .target = {result.data() + offset, to, result.layout()},
         .source = {source.data() + offset, from, source.layout()}},
        result, &source);
  };
  bool const is_foreign_bool = is_foreign && dtype == dtype_of<bool>();
  copy_as(is_foreign_bool ? dtype_of<std::uint8_t>() : source.dtype(), dtype);
  if (is_foreign && dtype.is_struct() && result.layout().size() != 0)
    for (std::size_t const offset : bool_offsets(dtype)) copy_as(dtype_of<std::uint8_t>(), dtype_of<bool>(), offset);
  if (why) report_copy(static_cast<std::int64_t>(result.bytes()), why + describe());
  return result;
}

ViewCore ViewCore::reduced(Reduction reduction, AxisMask axes, bool keep) const {
  ViewCore const source = *this;
  source.check_open();
  ViewCore result =
      source.make_here(reduced_dtype(reduction, _dtype), reduced_layout(reduction, _dtype, _layout, axes).shape());
  run({.kind = StridedJob::Kind::reduce,
       .reduction = reduction,
       .axes = axes,
       .target = result.elements(),
       .source = source.elements()},
      result, &source);
  if (keep)
    for (int d = 0; d < _layout.ndim(); ++d)
      if (((axes >> d) & 1U) != 0) result._layout.insert(d);
  return result;
}

DType const& ViewCore::reduce_all(Reduction reduction, std::byte* element) const {
  DType const& dtype = reduced_dtype(reduction, _dtype);
  if (on_device()) {
    reduced(reduction, every_axis(_layout.ndim())).read_element(element);
    return dtype;
  }
  // Another thread may close the view meanwhile.
  BlockExport const kept = memory();
  reduce(reduction, StridedSource{_data, _dtype, _layout}, every_axis(_layout.ndim()),
         StridedTarget{element, dtype, StridedLayout()});
  return dtype;
}

void ViewCore::fill(void const* element) const {
  check_writable("fill");
  check_elements_apart("fill");
  ViewCore const target = *this;
  auto const* const bytes = static_cast<std::byte const*>(element);
  run({.kind = StridedJob::Kind::fill, .target = target.elements(), .element = {bytes, bytes + _dtype.itemsize}},
      target, nullptr);
}

void ViewCore::add_index() const {
  check_writable("add_index");
  check_elements_apart("add_index");
  ViewCore const target = *this;
  run({.kind = StridedJob::Kind::add_index, .target = target.elements()}, target, nullptr);
}

ViewCore ViewCore::in_stream(StreamHandle const& stream) const {
  ViewCore result = *this;
  BoundStream const bound_stream = bind_stream(stream, result.block().uses()->memory().context());
  result._stream = std::make_shared<ViewStream>(ViewStream{bound_stream, _stream->lease});
  return result;
}

void ViewCore::export_to(StreamHandle const* stream) const {
  // Another thread may close the view meanwhile.
  BlockExport const kept = memory();
  std::shared_ptr<ViewStream const> const used = _stream;
  Use const use = kept.writable() ? Use::write : Use::read;
  if (!stream) return export_on(kept.block(), *used, used->bound_stream, use, false);
  export_on(kept.block(), *used, bind_stream(*stream, kept.block().uses()->memory().context()), use, true);
}

ViewCore ViewCore::without_copy(Device device, StreamChoice const* stream) const {
  if (memory_type() != MemoryType::unified || on_device() != device.is_cpu()) return {};
  if (device.is_cpu()) {
    Block* const host = block().host_side();
    if (!host) return {};
    ViewCore result(BlockExport(*host, writable()), _data, _dtype, _layout);
    if (stream) {
      StreamHandle const given = stream->get();
      export_to(&given);
    }
    host->fence(writable());
    host->uses()->synchronize(writable() ? Use::write : Use::read, "unified memory on the host, after work on streams");
    return result;
  }
  DeviceMemoryPtr const memory = DeviceMemory::of(device.id);
  BoundStream const bound_stream = bind_stream(stream ? stream->get() : default_stream(), memory->context());
  auto* const kept = new BlockExport(_memory);
  Block::KeepAlive const keep_alive{kept, [](void* object) noexcept { delete static_cast<BlockExport*>(object); }};
  BlockPtr const there = Block::on_device(block(), memory, keep_alive);
  if (!there) return {};
  return {BlockExport(*there, writable()), _data, _dtype, _layout,
          std::make_shared<ViewStream>(ViewStream{bound_stream})};
}

ViewCore ViewCore::to_device(Device device, StreamChoice const* stream) const {
  check_open();
  device = checked_device(device, "to_device");
  ViewCore const kept = *this;  // another thread may close the view during the copy
  if (device == this->device()) return stream && on_device() ? kept.in_stream(stream->get()) : kept;
  if (ViewCore shared = kept.without_copy(device, stream); shared.is_open()) return shared;
  DeviceMemoryPtr const memory = device.is_cpu() ? kept.block().uses()->memory_ptr() : DeviceMemory::of(device.id);
  StreamHandle const given = stream ? stream->get() : kept.on_device() ? kept.stream() : default_stream();
  TransferStreams const streams = transfer_streams(given, kept.block(), *memory, !stream);
  ViewCore source = (streams.in_source && stream ? kept.in_stream(given) : kept).ensure_contiguous();
  if (device.is_cpu()) {
    ViewCore result = make(_dtype, _layout.shape());
    source.transfer_to(result, streams.copies, CopyMode::blocking);
    make_bools_valid(_dtype, result.data(), result.bytes());
    return result;
  }
  if (has_invalid_bools(source)) source = source.copy();
  ViewCore result = make_on(memory, streams.allocates, _dtype, _layout.shape());
  if (streams.in_source) record_allocation(result.block(), streams.allocates);
  source.transfer_to(result, streams.copies, kept.on_device() ? CopyMode::async : CopyMode::blocking);
  return result;
}

void ViewCore::transfer_to(ViewCore const& target, BoundStream const& bound_stream, CopyMode ending) const {
  block().fence(false);
  detail::copy(target.block(), block(), bytes(), bound_stream, ending,
               static_cast<std::size_t>(_data - block().data()));
  report_transfer(describe(), device(), target.device(), bytes());
}

void ViewCore::read_element(void* element) const {
  ViewCore const source = *this;
  source.check_open();
  if (source.on_device()) {
    source.block().fence(false);
    auto const offset = static_cast<std::size_t>(source._data - source.block().data());
    read_bytes(source.block(), offset, element, _dtype.itemsize);
  } else {
    std::memcpy(element, source._data, _dtype.itemsize);
  }
  make_element_valid(_dtype, static_cast<std::byte*>(element));
}

void ViewCore::check_elements_apart(char const* what) const {
  if (_layout.may_overlap(_dtype.itemsize))
    throw ValueError(std::string(what) + " may write one element at several indices: this " + describe() +
                     " has strides " + shape_text(_layout.strides()) + "; copy() it first");
}

ViewCore view_of(ArrayState& state) {
  LeaseCore lease(ArrayStatePtr::share(&state), LeaseCore::Kind::read, {});
  lease.enter();
  return ViewCore(lease);
}

AxisMask axis_mask(std::span<int const> axes, int ndim) {
  AxisMask mask = 0;
  for (int const given : axes) {
    int const axis = given < 0 ? given + ndim : given;
    if (axis < 0 || axis >= ndim)
      throw IndexError("axis " + std::to_string(given) + " is out of range for a view of " + std::to_string(ndim) +
                       " dimensions");
    if ((mask >> axis) & 1U) throw ValueError("axis " + std::to_string(given) + " is given twice");
    mask |= AxisMask{1} << axis;
  }
  return mask;
}

void ViewCore::throw_closed() { throw_closed_view(); }

}  // namespace memarray::detail
