#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuMemcpyHtoDAsync(Session& session, cu::DevicePtr target_address, void const* source_address,
                             std::size_t bytes, cu::Stream handle);
cu::Result cuMemcpyDtoHAsync(Session& session, void* target_address, cu::DevicePtr source_address, std::size_t bytes,
                             cu::Stream handle);
cu::Result cuMemcpyDtoDAsync(Session& session, cu::DevicePtr target, cu::DevicePtr source, std::size_t bytes,
                             cu::Stream stream);
cu::Result cuMemcpyPeerAsync(Session& session, cu::DevicePtr target, cu::Context target_context, cu::DevicePtr source,
                             cu::Context source_context, std::size_t bytes, cu::Stream stream);
cu::Result cuMemsetD8Async(Session& session, cu::DevicePtr target_address, unsigned char value, std::size_t count,
                           cu::Stream handle);

}  // namespace memarray::simulated::emulated
