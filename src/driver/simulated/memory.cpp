#include "memory.hpp"

#include <sstream>
#include <utility>

#include "session_registry.hpp"

namespace memarray::simulated {

Memory::Memory(testing::SimulatedOptions const& options, std::uint32_t session, TouchLog& log) : _session(session) {
  for (int device = 0; device < options.count; ++device) {
    _arenas.push_back(std::make_unique<Arena>(device, options.memory, session, options.continue_after_touch, log));
    auto pool = std::make_shared<Pool>();
    pool->device = device;
    pool->is_default = true;
    _default_pools.push_back(std::move(pool));
  }
}

Memory::~Memory() {
  for (auto const& [begin, allocation] : _allocations)
    if (allocation->on_host) forget_host_memory(begin);
}

Arena* Memory::arena_of(std::uintptr_t address) noexcept {
  for (auto const& arena : _arenas)
    if (arena->holds(address)) return arena.get();
  return nullptr;
}

void Memory::add(std::shared_ptr<Allocation> const& allocation) {
  // The range no longer counts as freed.
  std::uintptr_t const end = allocation->begin + allocation->reserved;
  auto freed = _freed.upper_bound(allocation->begin);
  if (freed != _freed.begin()) --freed;
  while (freed != _freed.end() && freed->first < end)
    freed = freed->first + freed->second.bytes > allocation->begin ? _freed.erase(freed) : std::next(freed);
  if (allocation->on_host) {
    note_host_memory(allocation->begin, allocation->bytes, _session);
  } else {
    allocation->number =
        arena(allocation->device).table.add(allocation->begin, allocation->bytes, allocation->site.c_str());
  }
  _allocations[allocation->begin] = allocation;
}

void Memory::remove(Allocation const& allocation) {
  if (allocation.on_host) {
    forget_host_memory(allocation.begin);
  } else {
    arena(allocation.device).table.remove(allocation.number);
  }
  _freed[allocation.begin] = {allocation.bytes, allocation.site};
  _allocations.erase(allocation.begin);
}

std::shared_ptr<Allocation> Memory::find(std::uintptr_t address) const {
  auto found = _allocations.upper_bound(address);
  if (found == _allocations.begin()) return nullptr;
  --found;
  return address - found->first < found->second->bytes ? found->second : nullptr;
}

std::byte* Memory::reach(Allocation const& allocation, std::uintptr_t address) noexcept {
  if (allocation.on_host) return reinterpret_cast<std::byte*>(address);
  return arena(allocation.device).reach(address);
}

std::string Memory::describe(std::uintptr_t address) const {
  std::ostringstream words;
  words << "0x" << std::hex << address << std::dec;
  if (auto const found = find(address)) {
    words << ", " << address - found->begin << " bytes into " << found->bytes << " allocated";
    if (!found->site.empty()) words << " at " << found->site;
    return words.str();
  }
  if (auto freed = _freed.upper_bound(address); freed != _freed.begin()) {
    --freed;
    if (address - freed->first < freed->second.bytes) {
      words << ", in memory that was freed";
      if (!freed->second.site.empty()) words << ", allocated at " << freed->second.site;
      return words.str();
    }
  }
  words << ", in no allocation";
  return words.str();
}

}  // namespace memarray::simulated
