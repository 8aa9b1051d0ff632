#include <memarray/memory/default_resource.hpp>

#include <memarray/memory/pageable_resource.hpp>

namespace memarray {
namespace {

struct HostMemory {
  PoolingAdaptor pool{PageableResource()};
  StatisticsAdaptor statistics{pool};
};

HostMemory& host_memory() noexcept {
  static HostMemory& memory = *new HostMemory;
  return memory;
}

}  // namespace

MemoryResource host_resource() noexcept { return MemoryResource::immortal(host_memory().statistics); }

HostMemoryStatistics host_memory_statistics() noexcept {
  HostMemory& memory = host_memory();
  return {memory.statistics.statistics(), memory.pool.statistics()};
}

std::size_t trim(std::size_t keep) noexcept { return host_memory().pool.trim(keep); }

}  // namespace memarray
