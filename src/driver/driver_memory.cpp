#include "driver_memory.hpp"

namespace memarray::detail {
namespace {

constexpr unsigned attach_global_flag = 1;  // CU_MEM_ATTACH_GLOBAL
constexpr unsigned portable_flag = 1;       // CU_MEMHOSTALLOC_PORTABLE

}  // namespace

cu::Result allocate_memory(DriverTable const& driver, MemoryKind kind, MemoryPoolHandle const& pool,
                           StreamHandle const& stream, std::size_t bytes, cu::DevicePtr& pointer) noexcept {
  switch (kind) {
    case MemoryKind::pool: return driver.cuMemAllocFromPoolAsync(&pointer, bytes, *pool, *stream);
    case MemoryKind::device: return driver.cuMemAlloc(&pointer, bytes);
    case MemoryKind::managed: return driver.cuMemAllocManaged(&pointer, bytes, attach_global_flag);
    case MemoryKind::pinned: break;
  }
  void* host = nullptr;
  cu::Result const result = driver.cuMemHostAlloc(&host, bytes, portable_flag);
  pointer = reinterpret_cast<cu::DevicePtr>(host);
  return result;
}

void free_memory(DriverTable const& driver, MemoryKind kind, StreamHandle const& stream,
                 cu::DevicePtr pointer) noexcept {
  switch (kind) {
    case MemoryKind::pool: static_cast<void>(driver.cuMemFreeAsync(pointer, *stream)); break;
    case MemoryKind::device:
    case MemoryKind::managed: static_cast<void>(driver.cuMemFree(pointer)); break;
    case MemoryKind::pinned: static_cast<void>(driver.cuMemFreeHost(reinterpret_cast<void*>(pointer))); break;
  }
}

}  // namespace memarray::detail
