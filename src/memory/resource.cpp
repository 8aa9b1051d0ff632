#include <memarray/memory/resource.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include <memarray/base/errors.hpp>
#include <memarray/base/threads.hpp>

namespace memarray::detail {

void throw_host_cannot_reach(char const* what) {
  throw ValueError(
      std::string(what) +
      " allocates device memory, which the host cannot reach: expected a resource of normal, pinned or unified "
      "memory, such as host_resource(), DriverResource::pinned or DriverResource::managed; for memory of a "
      "device make the array without it and call move_memory(kDLCUDA)");
}

MemoryResource require_nonempty(MemoryResource resource) {
  if (!resource) throw ValueError("an adaptor needs the memory resource that it adapts, and this handle is empty");
  return resource;
}

void write_zeros(MemoryType type, void* pointer, std::size_t bytes) {
  if (!is_host_accessible(type))
    throw CudaError(cuda_code::not_supported, "the host cannot write to device memory; its resource must zero it");
  std::int64_t const chunks = parallel_chunks(bytes);
  if (chunks == 1) {
    std::memset(pointer, 0, bytes);
    return;
  }
  std::size_t const share = (bytes / static_cast<std::size_t>(chunks) + 4096) / 4096 * 4096;
  parallel_for(chunks, [=](std::int64_t chunk) {
    std::size_t const from = std::min(bytes, static_cast<std::size_t>(chunk) * share);
    std::memset(static_cast<char*>(pointer) + from, 0, std::min(share, bytes - from));
  });
}

}  // namespace memarray::detail
