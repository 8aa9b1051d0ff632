#include <memarray/memory/default_resource.hpp>

#include <memarray/memory/pageable_resource.hpp>

namespace memarray {
namespace {

PoolingAdaptor& pool() noexcept {
  static PoolingAdaptor& instance = *new PoolingAdaptor(PageableResource());
  return instance;
}

}  // namespace

MemoryResource host_resource() noexcept { return MemoryResource::immortal(pool()); }

PoolingAdaptor::Statistics host_memory_statistics() noexcept { return pool().statistics(); }

std::size_t trim(std::size_t keep) noexcept { return pool().trim(keep); }

}  // namespace memarray
