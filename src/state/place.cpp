#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/memory/transfer.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/hold.hpp>
#include <memarray/detail/state/place.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/memory/default_resource.hpp>

#include <cstring>
#include <utility>
#include <vector>

// The part of `ArrayState` that deals with devices: moves, leases on a device, access from the host.
namespace memarray::detail {

ArrayStatePtr ArrayState::make_on_device(DType const& dtype, Extents shape, int device_id,
                                         ArrayOptions const& options) {
  if (device_id < 0) throw ValueError("device_id is " + std::to_string(device_id) + "; device ids start at 0");
  std::int64_t const size = checked_size(shape);
  std::size_t const bytes = checked_bytes(size, dtype.itemsize);
  DeviceMemoryPtr const memory = DeviceMemory::of(device_id);
  BoundStream const queue = bind_stream(default_stream(), memory->context());
  BlockPtr block = allocate_for("a new array of " + std::string(dtype.name_view()), memory, queue, bytes);
  if (!options.uninitialized) {
    std::vector<std::byte> const zero(dtype.itemsize);
    detail::fill(*block, 0, dtype.init ? dtype.init : zero.data(), dtype.itemsize, static_cast<std::size_t>(size),
                 queue);
  }
  ArrayStatePtr state = make_over(dtype, shape, std::move(block));
  if (options.escaped_views) state->set_escaped_views(*options.escaped_views);
  return state;
}

Side ArrayState::side_in(Place const& place) const noexcept {
  if (!place.device) return _storage.current();
  return place.device->is_cpu() ? Side::host : Side::device;
}

bool ArrayState::must_settle(Place const& place, bool insist) const noexcept {
  Block const& current = *_storage.block();
  if (current.exports().writable != 0 && escaped_views() != EscapedViews::alias) return true;
  if (!place.device || current.device() == *place.device) return false;
  // After the first attempt other readers use the array: a valid other side is read without becoming current.
  Side const side = side_in(place);
  return insist || !_storage.valid(side) || _storage.block(side)->device() != *place.device;
}

void ArrayState::check_reachable(Device device, char const* what) const {
  if (device.type != kDLCPU && device.type != kDLCUDA)
    throw ValueError(std::string(what) + ": memory lives on the CPU (kDLCPU) or on a CUDA device (kDLCUDA), not on " +
                     to_string(device));
  if (device.id < 0) throw ValueError("device_id is " + std::to_string(device.id) + "; device ids start at 0");
  if (device.type != kDLCUDA || DeviceMemory::known(device.id)) return;
  int count = 0;
  if (DriverTable const* const table = driver())
    if (cu::Result const failed = table->cuDeviceGetCount(&count); failed != 0)
      throw_driver_error(failed, "counting the CUDA devices");
  if (device.id < count) return;
  if (BlockPtr const& block = _storage.block(Side::device); block && block->device() == device) return;
  DriverAbsence const absence = driver_absence();
  if (absence.code != 0 && absence.code != cuda_code::no_device)
    throw_driver_error(absence.code, (std::string(what) + " on " + to_string(device)).c_str());
  std::string const why = absence.code == 0 ? "; " : " (" + std::string(absence.why) + "); ";
  throw CudaError(cuda_code::no_device, "CUDA_ERROR_NO_DEVICE",
                  std::string(what) + " on " + to_string(device) + ": this process has no such CUDA device" + why +
                      describe() +
                      (on_device() ? " stays where it is" : " stays on the host, where every operation works"));
}

void ArrayState::await(Block& block, Access access, StreamChoice const& stream) const {
  StreamDependencies* const uses = block.uses();
  if (!uses) return;
  Use const use = access == Access::read ? Use::read : Use::write;
  block.fence(use == Use::write);
  if (block.device().is_cpu())
    uses->synchronize(use, use == Use::read ? "reading on the host, after a copy to it"
                                            : "writing on the host, after copies from and to it");
  else
    uses->order(
        bind_stream(stream.get(), uses->memory().context()), use,
        use == Use::read ? "reading on a device, after the last write" : "writing on a device, after all earlier uses");
}

void ArrayState::arrive(Device target, StreamChoice const& stream, Access access, CopyMode ending) {
  Side const side = target.is_cpu() ? Side::host : Side::device;
  BlockPtr into = _storage.block(side);
  bool const is_there = into && into->device() == target;
  if (is_there && _storage.valid(side)) return _storage.arrived(side);
  check_reachable(target, "moving");
  BlockPtr const from = _storage.block();
  DeviceMemoryPtr const memory = !is_there && side == Side::device ? DeviceMemory::of(target.id)
                                 : side == Side::device            ? into->uses()->memory_ptr()
                                                                   : from->uses()->memory_ptr();
  // For a copy between two devices, the stream may belong to either.
  StreamHandle const given = stream.get();
  ContextHandle const& of_stream = context_of(given);
  bool const in_source = of_stream && !from->device().is_cpu() && device_id_of(of_stream) == from->device().id;
  BoundStream const queue = bind_stream(given, in_source ? from->uses()->memory().context() : memory->context());
  BoundStream const allocates = in_source ? bind_stream(default_stream(), memory->context()) : queue;
  if (is_there && into->exports().total() != 0) check_policy(into->exports(), "moving");
  bool const in_place =
      is_there && into->bytes() == bytes() && (escaped_views() == EscapedViews::alias || into->exports().total() == 0);
  if (in_place) {
    into->fence(true);
  } else if (side == Side::device) {
    into = allocate_on(memory, allocates, bytes());
    // Recorded as pending work: other streams must wait until the allocation has happened.
    if (in_source || access == Access::overwrite) into->uses()->submitted(end_of(allocates, *memory), Use::write);
  } else {
    into = Block::allocate(_resource, bytes(), Block::Contents::uninitialized);
  }
  if (access != Access::overwrite) {
    from->fence(false);
    // The holder of a writable host view may write at any time; a blocking copy does not see that.
    bool const at_once = from->device().is_cpu() && from->exports().writable != 0 && ending == CopyMode::async;
    copy(*into, *from, bytes(), queue, at_once ? CopyMode::blocking : ending);
    if (at_once) report_wait("a view that can be written was kept on the host, so a copy to a device was waited for");
    report_transfer(describe(), from->device(), target, bytes());
  }
  // Stored before the side changes, for concurrent readers of `device`.
  if (side == Side::device) {
    _device_id = target.id;
    _exported_type = into->exported_device().type;
  }
  _storage.arrived(side, std::move(into));
}

void ArrayState::arrive_for_lease(Place const& place, Access access) {
  // Another of several holds may still fail, so the contents are kept until all are acquired.
  if (place.is_among_others && access == Access::overwrite) access = Access::write;
  if (!place.device->is_cpu()) {
    // Checks the stream before anything moves.
    static_cast<void>(bind_stream(place.stream.get(), DeviceMemory::of(place.device->id)->context()));
    return arrive(*place.device, place.stream, access, CopyMode::async);
  }
  bool const copies = !_storage.valid(Side::host) && access != Access::overwrite;
  arrive(*place.device, place.stream, access, CopyMode::blocking);
  if (copies) report_wait("a lease on the host needed a copy from a device to be over");
}

void ArrayState::move(Device target, std::int64_t lock_id, StreamChoice const& stream, bool async) {
  check_not_shared("move_memory");
  if (_word.load() != LockWord::free) refuse("move_memory", lock_id);
  Hold const hold(*this, Access::overwrite, -1, "move_memory", Hold::in_place);
  check_reachable(target, "move_memory");
  settle_for_read(stream);
  arrive(target, stream, Access::read, async ? CopyMode::async : CopyMode::blocking);
}

std::byte const* ArrayState::checked_read(std::int64_t lock_id, char const* what) {
  check_read(lock_id, what);
  if (_word.load() == LockWord::free && exports().writable != 0 && escaped_views() != EscapedViews::alias) {
    if (!take(Access::read, -1, no_wait)) refuse(what, lock_id);
    give_back(Access::read);
  }
  Block& block = *_storage.block();
  if (StreamDependencies* const uses = block.uses()) {
    block.fence(false);
    uses->synchronize(Use::read, "an access from the host, after work on streams");
  }
  return block.data();
}

std::byte* ArrayState::checked_write(std::int64_t lock_id, char const* what) {
  check_write(lock_id, what);
  if (_word.load() == LockWord::free && exports().total() != 0 && escaped_views() != EscapedViews::alias) {
    if (!take(Access::write, LockWord::operation, no_wait)) refuse(what, lock_id);
    give_back(Access::write);
  }
  Block& block = *_storage.block();
  if (StreamDependencies* const uses = block.uses()) {
    block.fence(true);
    uses->synchronize(Use::write, "a write from the host, after work on streams");
  }
  _storage.wrote(_storage.current());
  return block.data();
}

void ArrayState::read_element(std::int64_t at, void* element, std::int64_t lock_id) {
  std::size_t const offset = static_cast<std::size_t>(at) * _dtype.itemsize;
  if (!on_device()) {
    std::memcpy(element, checked_read(lock_id, "reading an element") + offset, _dtype.itemsize);
    return;
  }
  if (lock_id < 0 && _word.load() == LockWord::free) {
    Hold const hold(*this, Access::read, -1, "reading an element", Hold::orders_itself);
    return read_bytes(*_storage.block(), offset, element, _dtype.itemsize);
  }
  check_read(lock_id, "reading an element");
  read_bytes(*_storage.block(), offset, element, _dtype.itemsize);
}

void ArrayState::write_element(std::int64_t at, void const* element, std::int64_t lock_id) {
  std::size_t const offset = static_cast<std::size_t>(at) * _dtype.itemsize;
  if (!on_device()) {
    std::memcpy(checked_write(lock_id, "writing an element") + offset, element, _dtype.itemsize);
    return;
  }
  check_write(lock_id, "writing an element");
  Hold hold(*this, Access::write, lock_id, "writing an element", Hold::orders_itself);
  write_bytes(hold.target_block(), offset, element, _dtype.itemsize);
  hold.commit(Hold::Work::over);
}

}  // namespace memarray::detail
