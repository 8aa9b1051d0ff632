#include "segment.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/shared_array.hpp>

#include <memory>
#include <utility>

namespace memarray::detail {
namespace {

ArrayStatePtr attach(std::span<std::byte> bytes, SegmentLayout const& layout, KeepAliveGuard& keep_alive,
                     std::string name, DType const& dtype) {
  Segment::Attached attached = Segment::attach(bytes, layout, keep_alive.release(), std::move(name));
  return ArrayState::make_shared(dtype, layout.shape, std::move(attached.block), *attached.segment);
}

}  // namespace

ArrayStatePtr create_shared(std::span<std::byte> bytes, Block::KeepAlive keep_alive, std::string name, bool is_zero,
                            DType const& dtype, Extents shape) {
  KeepAliveGuard guard(keep_alive);
  SegmentLayout const layout = write_segment(bytes, dtype, shape, is_zero);
  return attach(bytes, layout, guard, std::move(name), dtype);
}

ArrayStatePtr attach_shared(std::span<std::byte> bytes, Block::KeepAlive keep_alive, std::string name,
                            DType const& dtype, int ndim) {
  KeepAliveGuard guard(keep_alive);
  SegmentLayout const layout = read_segment(bytes);
  if (!layout.is_of(dtype) || static_cast<int>(layout.shape.size()) != ndim)
    throw TypeError("this shared memory holds an array of " + layout.dtype_name + " (" +
                    std::to_string(layout.itemsize) + " bytes an element) of shape " + shape_text(layout.shape) +
                    ", not of " + std::string(dtype.name_view()) + " (" + std::to_string(dtype.itemsize) +
                    " bytes) with " + std::to_string(ndim) + " dimensions");
  return attach(bytes, layout, guard, std::move(name), dtype);
}

std::vector<Death> recover(ArrayState& state) {
  return state.lock().segment() ? state.lock().segment()->recover() : std::vector<Death>();
}

}  // namespace memarray::detail
