#include "deferred.hpp"
#include "last_use.hpp"
#include "thrust_allocator.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/live_memory.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/default_resource.hpp>

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

struct Request {
  Deferred deferred;  // first: shares the request's address
  Block* block;
  void (*run)(Block*) noexcept;
};
static_assert(sizeof(Request) <= Block::only_export_room);

// Each level takes a few hundred bytes of stack, and more in other libraries.
constexpr int deepest_drop = 8;
struct Drops {
  int depth = 0;
  std::vector<Block::KeepAlive>* later = nullptr;  // owned by the outermost drop
};
constinit thread_local Drops drops;

using HostAllocator = HostBytes::allocator_type;

// Created once: copying a newly written allocator stalls on the writes.
HostAllocator const& pooled(HostAllocator::Contents contents) {
  auto const made = [](HostAllocator::Contents how) -> HostAllocator const& {
    return *new HostAllocator(host_resource(), default_stream(), how);
  };
  static HostAllocator const& uninitialized = made(HostAllocator::Contents::uninitialized);
  static HostAllocator const& zero = made(HostAllocator::Contents::zero);
  return contents == HostAllocator::Contents::zero ? zero : uninitialized;
}

}  // namespace

struct OwnedBlock : Block {
  // Never null: consumers may ask for the address of an empty array.
  OwnedBlock(HostAllocator const& allocator, std::size_t count, MemoryType type)
      : Block(nullptr, count, Device{}, type, false, &destroy),
        vector(make_bytes<HostBytes>(allocator, count ? count : 1)) {
    _data = vector.data();
  }

  static void destroy(Block* block) noexcept {
    // Host functions of streams cannot call the driver.
    if (block->uses() || block->memory_type() != MemoryType::normal) return block->destroy_later(&destroy_when_over);
    delete static_cast<OwnedBlock*>(block);
  }
  static void destroy_when_over(Block* block) noexcept {
    if (StreamDependencies* const uses = block->uses(); uses && !is_over(*uses))
      return block->destroy_later(&destroy_when_over);
    delete static_cast<OwnedBlock*>(block);
  }

  HostBytes vector;
};

/// Device memory, freed in the order of the last stream that used it.
struct DeviceBlock : Block {
  DeviceBlock(DeviceMemoryPtr const& memory, BoundStream const& bound_stream, std::size_t count)
      : Block(nullptr, count, {kDLCUDA, memory->device_id()}, MemoryType::device, false, &destroy),
        where(bound_stream.stream),
        vector(make_bytes<DeviceBytes>(DeviceBytes::allocator_type(memory->memory(), &where), count ? count : 1)) {
    _data = vector.data().get();
    auto* const uses = new StreamDependencies(memory);
    _uses = uses;
    if (can_free_in(bound_stream, *memory)) return;
    // `bound_stream` cannot free it later: it may have ended, or is another context's or thread's.
    where = nullptr;
    uses->submitted(end_of(bound_stream, *memory), Use::write);
  }

  static void destroy(Block* block) noexcept { block->destroy_later(&destroy_in_order); }
  static void destroy_in_order(Block* block) noexcept {
    auto* const device = static_cast<DeviceBlock*>(block);
    DeviceMemoryPtr const memory = device->uses()->memory_ptr();
    // A forked child has no driver.
    if (!driver_of(memory->context())) return delete device;
    // The allocator must not fail to enter the context later.
    ContextScope const scope(memory->context());
    if (scope.driver() && device->order_free()) return delete device;
    // Work may still use the memory.
    clear_last_error();
    device->destroy_later(&destroy_in_order);
  }
  bool order_free() noexcept {
    if (!uses()->fence_escaped(Use::write, false) && !is_lost(uses()->memory().context())) return false;
    StreamHandle ordered = detail::order_free(*uses(), where);
    if (!ordered) return false;
    where = std::move(ordered);
    return true;
  }

  StreamHandle where;
  DeviceBytes vector;
};

struct ForeignBlock : Block {
  ForeignBlock(std::byte* data, std::size_t count, Device device, MemoryType type, KeepAliveGuard& owner) noexcept
      : Block(data, count, device, type, true, &destroy), keep_alive(owner.release()) {}
  ForeignBlock(Block& whole, std::byte* data, std::size_t count, KeepAliveGuard& owner) noexcept
      : ForeignBlock(data, count, whole.device(), whole.memory_type(), owner) {
    _whole = whole._whole ? whole._whole : &whole;
  }
  ForeignBlock(Block& host, Device device, KeepAliveGuard& owner) noexcept
      : ForeignBlock(host.data(), host.bytes(), device, host.memory_type(), owner) {
    _whole = host._whole ? host._whole : &host;
    _host_side = &host;
  }

  static void destroy(Block* block) noexcept {
    // The whole tracks pending work.
    if (!block->_whole && block->uses() && !block->uses()->is_unused()) return block->destroy_later(&destroy_when_over);
    delete static_cast<ForeignBlock*>(block);
  }
  static void destroy_when_over(Block* block) noexcept {
    StreamDependencies& uses = *block->uses();
    // Work must end before the owner is released.
    bool const fenced = uses.fence_escaped(Use::write, false) || is_lost(uses.memory().context());
    clear_last_error();
    if (!fenced || !is_over(uses)) return block->destroy_later(&destroy_when_over);
    delete static_cast<ForeignBlock*>(block);
  }

  KeepAliveGuard keep_alive;
};

Block::Block(std::byte* data, std::size_t bytes, Device device, MemoryType type, bool foreign,
             void (*destroy)(Block*) noexcept) noexcept
    : _data(data), _bytes(bytes), _device(device), _type(type), _foreign(foreign), _destroy(destroy) {
  count_live(1, static_cast<std::int64_t>(bytes));
}

Block::~Block() {
  delete _uses.load(std::memory_order_acquire);
  count_live(-1, -static_cast<std::int64_t>(_bytes));
}

BlockPtr Block::allocate(std::optional<MemoryResource> const& resource, std::size_t bytes, Contents contents) {
  run_deferred();
  auto const how = contents == Contents::zero ? HostAllocator::Contents::zero : HostAllocator::Contents::uninitialized;
  if (!resource) return BlockPtr(new OwnedBlock(pooled(how), bytes, MemoryType::normal));
  check_host_reaches(resource->memory_type(), "the resource of a block of host memory");
  return BlockPtr(new OwnedBlock(HostAllocator(*resource, default_stream(), how), bytes, resource->memory_type()));
}

BlockPtr Block::allocate(DeviceMemoryPtr const& memory, BoundStream const& bound_stream, std::size_t bytes) {
  run_deferred();
  return BlockPtr(new DeviceBlock(memory, bound_stream, bytes));
}

BlockPtr Block::adopt(void* data, std::size_t bytes, Device device, MemoryType type, KeepAlive keep_alive) {
  KeepAliveGuard guard(keep_alive);
  return BlockPtr(new ForeignBlock(static_cast<std::byte*>(data), bytes, device, type, guard));
}

Block& Block::adopt_exported(void* data, std::size_t bytes, Device device, MemoryType type, KeepAlive keep_alive,
                             bool writable) {
  KeepAliveGuard guard(keep_alive);
  auto* const block = new ForeignBlock(static_cast<std::byte*>(data), bytes, device, type, guard);
  block->_counts.store(writable ? writable_export : read_only_export, std::memory_order_relaxed);
  return *block;
}

BlockPtr Block::adopt_part(Block& whole, void* data, std::size_t bytes, KeepAlive keep_alive) {
  KeepAliveGuard guard(keep_alive);
  return BlockPtr(new ForeignBlock(whole, static_cast<std::byte*>(data), bytes, guard));
}

BlockPtr Block::on_device(Block& host, DeviceMemoryPtr const& memory, KeepAlive keep_alive) {
  KeepAliveGuard guard(keep_alive);
  if (host.memory_type() != MemoryType::unified || host.is_on_device()) return {};
  if (!memory->shares_with_host(host.data())) return {};
  // Pending work belongs to one device.
  if (host.uses_on(memory).memory_ptr() != memory) return {};
  return BlockPtr(new ForeignBlock(host, {kDLCUDA, memory->device_id()}, guard));
}

Block::KeepAlive Block::keep_alive() const noexcept {
  return _foreign ? static_cast<ForeignBlock const*>(this)->keep_alive.get() : KeepAlive();
}

void drop_keep_alive(Block::KeepAlive keep_alive) noexcept {
  if (!keep_alive.drop) return;
  Drops& mine = drops;
  if (mine.depth == deepest_drop) {
    try {
      return mine.later->push_back(keep_alive);
    } catch (std::bad_alloc const&) {
      return keep_alive.drop(keep_alive.object);  // out of memory: nests deeper
    }
  }
  std::vector<Block::KeepAlive> later;
  bool const is_outermost = mine.depth++ == 0;
  if (is_outermost) mine.later = &later;
  keep_alive.drop(keep_alive.object);
  while (is_outermost && !later.empty()) {
    Block::KeepAlive const next = later.back();
    later.pop_back();
    next.drop(next.object);
  }
  --mine.depth;
}

Block::KeepAlive keep_alive_of(std::shared_ptr<void const> keep_alive) {
  using Owner = std::shared_ptr<void const>;
  return {new Owner(std::move(keep_alive)), [](void* owner) noexcept { delete static_cast<Owner*>(owner); }};
}

Device Block::exported_device() const noexcept {
  if (!is_on_device()) return _type == MemoryType::unified ? exported_managed_device() : _device;
  if (uses() && !uses()->memory().driver().exports_as_cuda) return {kDLExtDev, _device.id};
  return _device;
}

Device exported_managed_device() noexcept {
  DriverTable const* const table = driver();
  return table && table->exports_as_cuda ? Device{kDLCUDAManaged, 0} : Device{};
}

StreamDependencies& Block::uses_on(DeviceMemoryPtr const& memory) {
  if (_whole) return _whole->uses_on(memory);
  if (StreamDependencies* const known = uses()) return *known;
  auto made = std::make_unique<StreamDependencies>(memory);
  StreamDependencies* first = nullptr;
  if (!_uses.compare_exchange_strong(first, made.get(), std::memory_order_acq_rel)) return *first;
  return *made.release();
}

void Block::fence(bool to_write) {
  StreamDependencies* const known = uses();
  bool const alive = (_whole ? _whole : this)->exports().total() != 0;
  if (known && !known->fence_escaped(to_write ? Use::write : Use::read, alive))
    throw_last_error("waiting for work on views that outlived their lease");
}

void Block::destroy_later(void (*run)(Block*) noexcept) noexcept {
  auto* const request = new (_only_export) Request{{[](Deferred* deferred) noexcept {
                                                     auto* const asked = reinterpret_cast<Request*>(deferred);
                                                     asked->run(asked->block);
                                                   }},
                                                   this,
                                                   run};
  defer(&request->deferred);
}

void Block::too_many_exports(std::uint64_t one) {
  drop_export(one == writable_export);
  throw BufferError("more than a million exports of one array are alive; drop some first");
}

}  // namespace memarray::detail
