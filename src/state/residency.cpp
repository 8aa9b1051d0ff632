#include "strided/host_memory.hpp"
#include "strided/valid_bools.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/residency.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>

#include <utility>

namespace memarray::detail {

Residency::Residency(BlockPtr block, int device_id, std::optional<MemoryResource> resource) noexcept
    : _resource(std::move(resource)) {
  Side const side = block->is_on_device() ? Side::device : Side::host;
  _storage = Storage(side, std::move(block));
  publish(device_id);
}

void Residency::publish(int device_id) noexcept {
  Block const& current = block();
  bool const on_device = current.is_on_device();
  _facts.store({.device_id = on_device ? current.device().id : device_id,
                .exported_type = static_cast<std::uint8_t>(on_device ? current.exported_device().type : kDLCPU),
                .memory_type = static_cast<std::uint8_t>(current.memory_type()),
                .on_device = on_device,
                .is_foreign = current.is_foreign(),
                .has_device_side = static_cast<bool>(_storage.block(Side::device))},
               std::memory_order_relaxed);
}

Device Residency::device() const noexcept {
  Facts const now = facts();
  return now.on_device ? Device{kDLCUDA, now.device_id} : Device{};
}

Device Residency::exported_device() const noexcept {
  Facts const now = facts();
  if (now.on_device) return {static_cast<DLDeviceType>(now.exported_type), now.device_id};
  return static_cast<MemoryType>(now.memory_type) == MemoryType::unified ? exported_managed_device() : Device{};
}

void Residency::check_reachable(ArrayState const& array, Device device, char const* what) const {
  device = checked_device(device, what);
  if (device.is_cpu() || DeviceMemory::known(device.id)) return;
  int count = 0;
  if (DriverTable const* const table = driver())
    check_driver(table->cuDeviceGetCount(&count), "counting the CUDA devices");
  if (device.id < count) return;
  Facts const now = facts();
  if (now.has_device_side && now.device_id == device.id) return;
  DriverAbsence const absence = driver_absence();
  if (absence.code != 0 && absence.code != cuda_code::no_device)
    throw_driver_error(absence.code, (std::string(what) + " on " + to_string(device)).c_str());
  std::string const why = absence.code == 0 ? "; " : " (" + std::string(absence.why) + "); ";
  throw CudaError(cuda_code::no_device,
                  std::string(what) + " on " + to_string(device) + ": this process has no such CUDA device" + why +
                      array.describe() +
                      (now.on_device ? " stays where it is" : " stays on the host, where every operation works"));
}

Side Residency::side_on(std::optional<Device> const& device) const noexcept {
  if (!device) return _storage.current();
  return device->is_cpu() ? Side::host : Side::device;
}

BoundStream Residency::bind(StreamChoice const& stream) const {
  return bind_stream(stream.get(), _storage.block(Side::device)->uses()->memory().context());
}

StreamChoice Residency::stream_here(StreamChoice const& stream) const {
  if (!on_device()) return {};
  ContextHandle const context = context_of(stream.get());
  return context && device_id_of(context) != block().device().id ? StreamChoice() : stream;
}

BlockPtr Residency::allocate(ArrayState const& array, std::size_t bytes, StreamChoice const& stream) const {
  if (!on_device()) return Block::allocate(_resource, bytes, Block::Contents::uninitialized);
  return allocate_for(array.describe(), block().uses()->memory_ptr(), bind(stream), bytes);
}

BlockPtr Residency::copy_block(ArrayState const& array, char const* why, StreamChoice const& stream) const {
  std::size_t const bytes = array.bytes();
  BlockPtr fresh = allocate(array, bytes, stream);
  Block& current = block();
  if (on_device()) {
    current.fence(false);
    copy(*fresh, current, bytes, bind(stream), CopyMode::async);
  } else {
    await(current, Use::read, stream);
    copy_host(fresh->data(), current.data(), bytes);
  }
  report_copy(static_cast<std::int64_t>(bytes), array.describe() + " continued in fresh memory, because " + why);
  return fresh;
}

BlockPtr Residency::replace(BlockPtr fresh) noexcept {
  BlockPtr old = _storage.replace(_storage.current(), std::move(fresh));
  publish(device_id());
  return old;
}

void Residency::detach(ArrayState const& array, char const* why, StreamChoice const& stream) {
  BlockPtr fresh = copy_block(array, why, stream);
  counters().versions.fetch_add(1, std::memory_order_relaxed);
  replace(std::move(fresh));
}

void Residency::arrive(ArrayState const& array, Device target, StreamChoice const& stream, AccessMode mode,
                       CopyMode ending) {
  target = checked_device(target, "moving");
  Side const side = side_on(target);
  BlockPtr into = _storage.block(side);
  bool const is_there = into && into->device() == target;
  if (is_there && _storage.valid(side)) return make_current(side, device_id());
  check_reachable(array, target, "moving");
  std::size_t const bytes = array.bytes();
  BlockPtr const from = _storage.block();
  DeviceMemoryPtr const memory = !is_there && side == Side::device ? DeviceMemory::of(target.id)
                                 : side == Side::device            ? into->uses()->memory_ptr()
                                                                   : from->uses()->memory_ptr();
  TransferStreams const streams = transfer_streams(stream.get(), *from, *memory);
  if (is_there && into->exports().total() != 0) array.check_policy(into->exports(), "moving");
  bool const in_place = is_there && into->bytes() == bytes &&
                        (array.escaped_views() == EscapedViews::alias || into->exports().total() == 0);
  if (in_place) {
    into->fence(true);
  } else if (side == Side::device) {
    into = allocate_for(array.describe(), memory, streams.allocates, bytes);
    if (streams.in_source || mode == AccessMode::overwrite) record_allocation(*into, streams.allocates);
  } else {
    into = Block::allocate(_resource, bytes, Block::Contents::uninitialized);
  }
  if (mode != AccessMode::overwrite) {
    from->fence(false);
    // The holder of a writable host view may write during an asynchronous copy.
    bool const at_once = from->device().is_cpu() && from->exports().writable != 0 && ending == CopyMode::async;
    bool const may_have_invalid_bools = target.is_cpu() && has_bools(array.dtype());
    copy(*into, *from, bytes, streams.copies, at_once || may_have_invalid_bools ? CopyMode::blocking : ending);
    if (may_have_invalid_bools) make_bools_valid(array.dtype(), into->data(), bytes);
    if (may_have_invalid_bools && ending == CopyMode::async)
      report_wait("bools from a device are checked on the host, so their copy was waited for");
    if (at_once) report_wait("an escaped view on the host is writable, so a copy to a device was waited for");
    report_transfer(array.describe(), from->device(), target, bytes);
  }
  _storage.arrived(side, std::move(into));
  publish(device_id());
}

void Residency::swap(Residency& other) noexcept {
  int const mine = device_id();
  int const theirs = other.device_id();
  std::swap(_storage, other._storage);
  std::swap(_resource, other._resource);
  publish(theirs);
  other.publish(mine);
}

void Residency::make_current(Side side, int device_id) noexcept {
  _storage.arrived(side);
  publish(device_id);
}

void Residency::restore(Snapshot&& before) noexcept {
  _storage = std::move(before.storage);
  publish(before.device_id);
}

void await(Block& block, Use use, StreamChoice const& stream) {
  StreamDependencies* const uses = block.uses();
  if (!uses) return;
  block.fence(use == Use::write);
  if (block.device().is_cpu())
    uses->synchronize(use, use == Use::read ? "reading on the host, after a copy to it"
                                            : "writing on the host, after copies from and to it");
  else
    uses->order(
        bind_stream(stream.get(), uses->memory().context()), use,
        use == Use::read ? "reading on a device, after the last write" : "writing on a device, after all earlier uses");
}

}  // namespace memarray::detail
