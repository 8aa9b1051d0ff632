#include "emulate_devices.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>

#include "session.hpp"

namespace memarray::simulated::emulated {
namespace {

constexpr int version_of_driver = 13000;
constexpr int memory_pools_supported = 115;

struct Attribute {
  int number;
  int value;
};

// The `CUdevice_attribute`s that do not depend on options.
constexpr Attribute attributes[] = {
    {1, 1024},        // MAX_THREADS_PER_BLOCK
    {2, 1024},        // MAX_BLOCK_DIM_X
    {3, 1024},        // MAX_BLOCK_DIM_Y
    {4, 64},          // MAX_BLOCK_DIM_Z
    {5, 2147483647},  // MAX_GRID_DIM_X
    {6, 65535},       // MAX_GRID_DIM_Y
    {7, 65535},       // MAX_GRID_DIM_Z
    {8, 49152},       // MAX_SHARED_MEMORY_PER_BLOCK
    {10, 32},         // WARP_SIZE
    {12, 65536},      // MAX_REGISTERS_PER_BLOCK
    {16, 16},         // MULTIPROCESSOR_COUNT
    {17, 0},          // KERNEL_EXEC_TIMEOUT
    {18, 0},          // INTEGRATED
    {19, 1},          // CAN_MAP_HOST_MEMORY
    {20, 0},          // COMPUTE_MODE
    {31, 1},          // CONCURRENT_KERNELS
    {39, 2048},       // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 2},          // ASYNC_ENGINE_COUNT
    {41, 1},          // UNIFIED_ADDRESSING
    {75, 9},          // COMPUTE_CAPABILITY_MAJOR
    {76, 0},          // COMPUTE_CAPABILITY_MINOR
    {78, 1},          // STREAM_PRIORITIES_SUPPORTED
    {83, 1},          // MANAGED_MEMORY
    {88, 0},          // PAGEABLE_MEMORY_ACCESS
    {89, 1},          // CONCURRENT_MANAGED_ACCESS
    {91, 1},          // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
};

}  // namespace

cu::Result cuInit(Session&, unsigned flags) { return flags == 0 ? cuda_code::success : cuda_code::invalid_value; }

cu::Result cuDriverGetVersion(Session&, int* version) {
  *version = version_of_driver;
  return cuda_code::success;
}

cu::Result cuDeviceGetCount(Session& session, int* count) {
  *count = session.options.count;
  return cuda_code::success;
}

cu::Result cuDeviceGet(Session& session, cu::Device* device, int ordinal) {
  if (!session.has_device(ordinal)) return cuda_code::invalid_device;
  *device = ordinal;
  return cuda_code::success;
}

cu::Result cuDeviceGetName(Session& session, char* name, int length, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  if (length <= 0) return cuda_code::invalid_value;
  std::snprintf(name, static_cast<std::size_t>(length), "simulated device %d", device);
  return cuda_code::success;
}

cu::Result cuDeviceGetAttribute(Session& session, int* value, int attribute, cu::Device device) {
  if (!session.has_device(device)) return cuda_code::invalid_device;
  if (attribute == memory_pools_supported) {
    *value = session.options.pools ? 1 : 0;
    return cuda_code::success;
  }
  auto const* const known = std::find_if(std::begin(attributes), std::end(attributes),
                                         [&](Attribute const& one) { return one.number == attribute; });
  if (known == std::end(attributes)) return cuda_code::invalid_value;
  *value = known->value;
  return cuda_code::success;
}

cu::Result cuDeviceCanAccessPeer(Session& session, int* can, cu::Device device, cu::Device peer) {
  if (!session.has_device(device) || !session.has_device(peer)) return cuda_code::invalid_device;
  *can = session.options.peer_access && device != peer ? 1 : 0;
  return cuda_code::success;
}

cu::Result cuMemGetInfo(Session& session, std::size_t* free, std::size_t* total) {
  std::lock_guard const guard(session.lock);
  cu::Result error = cuda_code::success;
  auto const context = session.working_context(function::cuMemGetInfo, error);
  if (!context) return error;
  Arena const& arena = session.memory.arena(context->device);
  *free = arena.free.bytes();
  *total = arena.bytes();
  return cuda_code::success;
}

}  // namespace memarray::simulated::emulated
