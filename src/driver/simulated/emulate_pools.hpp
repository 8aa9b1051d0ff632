#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuMemPoolCreate(Session& session, cu::MemoryPool* pool, cu::MemoryPoolProperties const* properties);
cu::Result cuMemPoolDestroy(Session& session, cu::MemoryPool handle);
cu::Result cuMemPoolSetAttribute(Session& session, cu::MemoryPool handle, int attribute, void* value);
cu::Result cuMemPoolGetAttribute(Session& session, cu::MemoryPool handle, int attribute, void* value);
cu::Result cuMemPoolTrimTo(Session& session, cu::MemoryPool handle, std::size_t bytes_to_keep);
cu::Result cuMemPoolSetAccess(Session& session, cu::MemoryPool handle, cu::MemoryAccess const* access,
                              std::size_t count);
cu::Result cuDeviceGetDefaultMemPool(Session& session, cu::MemoryPool* pool, cu::Device device);
cu::Result cuMemAllocFromPoolAsync(Session& session, cu::DevicePtr* pointer, std::size_t bytes, cu::MemoryPool handle,
                                   cu::Stream stream_handle);
cu::Result cuMemAllocAsync(Session& session, cu::DevicePtr* pointer, std::size_t bytes, cu::Stream stream_handle);
cu::Result cuMemFreeAsync(Session& session, cu::DevicePtr pointer, cu::Stream stream_handle);

}  // namespace memarray::simulated::emulated
