#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

/// Memory outside stream order, and pointer attributes.
namespace memarray::simulated::emulated {

cu::Result cuMemAlloc(Session& session, cu::DevicePtr* pointer, std::size_t bytes);
cu::Result cuMemFree(Session& session, cu::DevicePtr pointer);
cu::Result cuMemAllocManaged(Session& session, cu::DevicePtr* pointer, std::size_t bytes, unsigned flags);
cu::Result cuMemHostAlloc(Session& session, void** pointer, std::size_t bytes, unsigned flags);
cu::Result cuMemFreeHost(Session& session, void* pointer);
cu::Result cuPointerGetAttribute(Session& session, void* value, int attribute, cu::DevicePtr pointer);

}  // namespace memarray::simulated::emulated
