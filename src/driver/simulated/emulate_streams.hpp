#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstddef>

namespace memarray::simulated {
class Session;
}

namespace memarray::simulated::emulated {

cu::Result cuStreamCreateWithPriority(Session& session, cu::Stream* stream, unsigned flags, int priority);
cu::Result cuStreamDestroy(Session& session, cu::Stream handle);
cu::Result cuStreamSynchronize(Session& session, cu::Stream handle);
cu::Result cuStreamQuery(Session& session, cu::Stream handle);
cu::Result cuStreamWaitEvent(Session& session, cu::Stream handle, cu::Event event_handle, unsigned flags);
cu::Result cuStreamGetCtx(Session& session, cu::Stream handle, cu::Context* context);
cu::Result cuStreamGetPriority(Session& session, cu::Stream handle, int* priority);
cu::Result cuStreamGetFlags(Session& session, cu::Stream handle, unsigned* flags);
cu::Result cuLaunchHostFunc(Session& session, cu::Stream handle, cu::HostFunction host_function, void* data);
cu::Result launch(Session& session, cu::Stream handle, cu::HostFunction kernel, void* data);

}  // namespace memarray::simulated::emulated
