#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuInit(Session&, unsigned flags);
cu::Result cuDriverGetVersion(Session&, int* version);
cu::Result cuDeviceGetCount(Session& session, int* count);
cu::Result cuDeviceGet(Session& session, cu::Device* device, int ordinal);
cu::Result cuDeviceGetName(Session& session, char* name, int length, cu::Device device);
cu::Result cuDeviceGetAttribute(Session& session, int* value, int attribute, cu::Device device);
cu::Result cuDeviceCanAccessPeer(Session& session, int* can, cu::Device device, cu::Device peer);
cu::Result cuMemGetInfo(Session& session, std::size_t* free, std::size_t* total);

}  // namespace memarray::simulated::emulated
