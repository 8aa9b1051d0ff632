#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuEventCreate(Session& session, cu::Event* event, unsigned flags);
cu::Result cuEventDestroy(Session& session, cu::Event handle);
cu::Result cuEventRecord(Session& session, cu::Event handle, cu::Stream stream_handle);
cu::Result cuEventQuery(Session& session, cu::Event handle);
cu::Result cuEventSynchronize(Session& session, cu::Event handle);
cu::Result cuEventElapsedTime(Session& session, float* milliseconds, cu::Event start_handle, cu::Event end_handle);

}  // namespace memarray::simulated::emulated
