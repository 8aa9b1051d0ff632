#include <memarray/memory/default_resource.hpp>

#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/pageable_resource.hpp>

namespace memarray {
namespace {

PoolingAdaptor& pool() noexcept {
  static PoolingAdaptor& instance = *new PoolingAdaptor(PageableResource());
  return instance;
}

}  // namespace

MemoryResource host_resource() noexcept { return MemoryResource::immortal(pool()); }

MemoryResource host_resource(MemoryType type, int device_id) {
  if (type == MemoryType::normal) return host_resource();
  detail::check_host_reaches(type, "host_resource");
  detail::DeviceMemoryPtr const memory = detail::DeviceMemory::of(device_id);
  if (type == MemoryType::pinned) return memory->staging();
  return DriverResource::managed(memory->context());
}

PoolingAdaptor::Statistics host_memory_statistics() noexcept { return pool().statistics(); }

std::size_t trim(std::size_t keep) noexcept { return pool().trim(keep); }

}  // namespace memarray
