#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/memory/block.hpp>
#include <memarray/memory/thrust_allocator.hpp>

#include <string>
#include <utility>

namespace memarray::detail {

/// Memory in a Thrust vector over a resource's allocator.
struct OwnedBlock : Block {
  OwnedBlock(HostBytes bytes, std::size_t count) noexcept
      : Block(bytes.data(), count, Device{}, false, &destroy), vector(std::move(bytes)) {}
  static void destroy(Block* block) noexcept { delete static_cast<OwnedBlock*>(block); }
  HostBytes vector;
};

/// Memory that somebody else keeps.
struct ForeignBlock : Block {
  ForeignBlock(std::byte* data, std::size_t count, Device device, std::shared_ptr<void const> owner) noexcept
      : Block(data, count, device, true, &destroy), keep_alive(std::move(owner)) {}
  static void destroy(Block* block) noexcept { delete static_cast<ForeignBlock*>(block); }
  std::shared_ptr<void const> keep_alive;
};

Block::Block(std::byte* data, std::size_t bytes, Device device, bool foreign, void (*destroy)(Block*) noexcept) noexcept
    : _data(data), _bytes(bytes), _device(device), _foreign(foreign), _destroy(destroy) {
  counters().live_blocks.fetch_add(1, std::memory_order_relaxed);
  counters().live_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

Block::~Block() {
  counters().live_blocks.fetch_sub(1, std::memory_order_relaxed);
  counters().live_bytes.fetch_sub(static_cast<std::int64_t>(_bytes), std::memory_order_relaxed);
}

BlockPtr Block::allocate(MemoryResource const& resource, StreamHandle const& stream, std::size_t bytes,
                         Contents contents) {
  using Allocator = HostBytes::allocator_type;
  Allocator const allocator(
      resource, stream, contents == Contents::zero ? Allocator::Contents::zero : Allocator::Contents::uninitialized);
  // Consumers of an empty array may still ask for its address, so it has one.
  return BlockPtr(new OwnedBlock(make_bytes<HostBytes>(allocator, bytes ? bytes : 1), bytes));
}

BlockPtr Block::adopt(void* data, std::size_t bytes, Device device, std::shared_ptr<void const> keep_alive) {
  return BlockPtr(new ForeignBlock(static_cast<std::byte*>(data), bytes, device, std::move(keep_alive)));
}

void Block::too_many_exports(std::uint64_t one) {
  drop(one);
  throw BufferError("more than a million exports of one array are alive; drop some first");
}

}  // namespace memarray::detail
