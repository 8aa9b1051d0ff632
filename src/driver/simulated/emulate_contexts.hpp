#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuDevicePrimaryCtxRetain(Session& session, cu::Context* context, cu::Device device);
cu::Result cuDevicePrimaryCtxRelease(Session& session, cu::Device device);
cu::Result cuCtxCreate(Session& session, cu::Context* context, unsigned, cu::Device device);
cu::Result cuCtxDestroy(Session& session, cu::Context handle);
cu::Result cuCtxPushCurrent(Session& session, cu::Context handle);
cu::Result cuCtxPopCurrent(Session&, cu::Context* context);
cu::Result cuCtxGetCurrent(Session&, cu::Context* context);
cu::Result cuCtxGetDevice(Session& session, cu::Device* device);
cu::Result cuCtxSynchronize(Session& session);
cu::Result cuCtxGetStreamPriorityRange(Session& session, int* least, int* greatest);
cu::Result cuCtxEnablePeerAccess(Session& session, cu::Context peer, unsigned flags);

}  // namespace memarray::simulated::emulated
