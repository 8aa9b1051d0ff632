#include "strided/valid_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/acquisition.hpp>
#include <memarray/detail/state/element_access.hpp>

#include <cstring>

namespace memarray::detail {
namespace {

// Blocks until no pending work conflicts.
std::byte* finished(Block& block, Use use, char const* site) {
  if (StreamDependencies* const uses = block.uses()) {
    block.fence(use == Use::write);
    uses->synchronize(use, site);
  }
  return block.data();
}

void copy_out(Block& block, DType const& dtype, std::size_t offset, void* element) {
  if (!block.is_on_device()) {
    std::memcpy(element, block.data() + offset, dtype.itemsize);
    return;
  }
  read_bytes(block, offset, element, dtype.itemsize);
  make_element_valid(dtype, static_cast<std::byte*>(element));
}
void copy_in(Block& block, std::size_t offset, void const* element, std::size_t itemsize) {
  if (block.is_on_device()) return write_bytes(block, offset, element, itemsize);
  std::memcpy(block.data() + offset, element, itemsize);
}

}  // namespace

void check_write(ArrayState const& state, std::int64_t lock_id, char const* what) {
  if (!state.lock().admits_write(lock_id)) state.refuse(what, lock_id);
}

void check_read(ArrayState& state, std::int64_t lock_id, char const* what) {
  if (!state.lock().admits_read(lock_id)) state.refuse(what, lock_id);
}

std::byte const* checked_read(ArrayState& state, std::int64_t lock_id, char const* what) {
  check_read(state, lock_id, what);
  Residency& residency = state.residency();
  if (state.lock().is_free() && residency.exports().writable != 0 && state.escaped_views() != EscapedViews::alias)
    Acquisition(state, AccessMode::read, -1, what, Acquisition::Option::lock_only);
  return finished(residency.block(), Use::read, "an access from the host, after work on streams");
}

std::byte* checked_write(ArrayState& state, std::int64_t lock_id, char const* what) {
  check_write(state, lock_id, what);
  Residency& residency = state.residency();
  if (state.lock().is_free() && residency.exports().total() != 0 && state.escaped_views() != EscapedViews::alias)
    Acquisition(state, AccessMode::write, -1, what, Acquisition::Option::lock_only);
  std::byte* const data = finished(residency.block(), Use::write, "a write from the host, after work on streams");
  residency.wrote();
  return data;
}

void read_element(ArrayState& state, std::int64_t at, void* element, std::int64_t lock_id) {
  constexpr char const* what = "reading an element";
  std::size_t const itemsize = state.dtype().itemsize;
  std::size_t const offset = static_cast<std::size_t>(at) * itemsize;
  Residency const& residency = state.residency();
  if (!residency.on_device()) {
    std::memcpy(element, checked_read(state, lock_id, what) + offset, itemsize);
    return;
  }
  if (lock_id < 0 && state.lock().is_free()) {
    Acquisition const hold(state, AccessMode::read, -1, what, Acquisition::Option::orders_itself);
    return copy_out(residency.block(), state.dtype(), offset, element);
  }
  check_read(state, lock_id, what);
  copy_out(residency.block(), state.dtype(), offset, element);
}

void write_element(ArrayState& state, std::int64_t at, void const* element, std::int64_t lock_id) {
  constexpr char const* what = "writing an element";
  std::size_t const itemsize = state.dtype().itemsize;
  std::size_t const offset = static_cast<std::size_t>(at) * itemsize;
  if (!state.residency().on_device()) {
    std::memcpy(checked_write(state, lock_id, what) + offset, element, itemsize);
    return;
  }
  check_write(state, lock_id, what);
  Acquisition hold(state, AccessMode::write, lock_id, what, Acquisition::Option::orders_itself);
  copy_in(hold.target_block(), offset, element, itemsize);
  hold.commit(Acquisition::Work::complete);
}

void check_side(ArrayState const& state, Side side) {
  // A side that is only valid becomes stale at the next write.
  if (state.residency().on_device() == (side == Side::device)) return;
  throw Error(state.describe() + (side == Side::host
                                      ? " is on a device: call move_memory(kDLCPU, …) before host_view()"
                                      : " is on the host: call move_memory(kDLCUDA, …) before device_view()"));
}

void throw_out_of_bounds(ArrayState const& state, int dimension, std::int64_t index) {
  throw IndexError("index " + std::to_string(index) + " of dimension " + std::to_string(dimension) + " is outside " +
                   state.describe());
}

}  // namespace memarray::detail
