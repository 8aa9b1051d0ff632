#pragma once

#include <cstddef>

struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;

namespace memarray {

/// The driver's types, declared without its header.
namespace cu {
using Result = int;
using Device = int;
using Context = CUctx_st*;
using Stream = CUstream_st*;
using Event = CUevent_st*;
using MemoryPool = CUmemPoolHandle_st*;
using DevicePtr = unsigned long long;
using HostFunction = void (*)(void* data);
/// The layout of `CUmemPoolProps`.
struct MemoryPoolProperties {
  int allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int location_id = 0;
  void* security_attributes = nullptr;
  std::size_t max_size = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};
/// The layout of `CUmemAccessDesc`.
struct MemoryAccess {
  int location_type = 1;
  int location_id = 0;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
};
}  // namespace cu

}  // namespace memarray

/// The driver functions that memarray calls, which return a `CUresult`: X(name without suffix, CUDA version that
/// introduced this form, parameters).
#define MEMARRAY_FOR_EACH_DRIVER_FUNCTION(X)                                                                         \
  X(cuInit, 2000, (unsigned int flags))                                                                              \
  X(cuDriverGetVersion, 2020, (int* version))                                                                        \
  X(cuGetErrorName, 6000, (::memarray::cu::Result error, char const** name))                                         \
  X(cuGetErrorString, 6000, (::memarray::cu::Result error, char const** text))                                       \
  X(cuDeviceGetCount, 2000, (int* count))                                                                            \
  X(cuDeviceGet, 2000, (::memarray::cu::Device * device, int ordinal))                                               \
  X(cuDeviceGetName, 2000, (char* name, int length, ::memarray::cu::Device device))                                  \
  X(cuDeviceGetAttribute, 2000, (int* value, int attribute, ::memarray::cu::Device device))                          \
  X(cuDeviceCanAccessPeer, 4000, (int* can, ::memarray::cu::Device device, ::memarray::cu::Device peer))             \
  X(cuDevicePrimaryCtxRetain, 7000, (::memarray::cu::Context * context, ::memarray::cu::Device device))              \
  X(cuDevicePrimaryCtxRelease, 11000, (::memarray::cu::Device device))                                               \
  X(cuCtxCreate, 3020, (::memarray::cu::Context * context, unsigned int flags, ::memarray::cu::Device device))       \
  X(cuCtxDestroy, 4000, (::memarray::cu::Context context))                                                           \
  X(cuCtxPushCurrent, 4000, (::memarray::cu::Context context))                                                       \
  X(cuCtxPopCurrent, 4000, (::memarray::cu::Context * context))                                                      \
  X(cuCtxGetCurrent, 4000, (::memarray::cu::Context * context))                                                      \
  X(cuCtxGetDevice, 2000, (::memarray::cu::Device * device))                                                         \
  X(cuCtxSynchronize, 2000, ())                                                                                      \
  X(cuCtxGetStreamPriorityRange, 5050, (int* least, int* greatest))                                                  \
  X(cuCtxEnablePeerAccess, 4000, (::memarray::cu::Context peer, unsigned int flags))                                 \
  X(cuStreamCreateWithPriority, 5050, (::memarray::cu::Stream * stream, unsigned int flags, int priority))           \
  X(cuStreamDestroy, 4000, (::memarray::cu::Stream stream))                                                          \
  X(cuStreamSynchronize, 2000, (::memarray::cu::Stream stream))                                                      \
  X(cuStreamQuery, 2000, (::memarray::cu::Stream stream))                                                            \
  X(cuStreamWaitEvent, 3020, (::memarray::cu::Stream stream, ::memarray::cu::Event event, unsigned int flags))       \
  X(cuStreamGetCtx, 9020, (::memarray::cu::Stream stream, ::memarray::cu::Context * context))                        \
  X(cuStreamGetPriority, 5050, (::memarray::cu::Stream stream, int* priority))                                       \
  X(cuStreamGetFlags, 5050, (::memarray::cu::Stream stream, unsigned int* flags))                                    \
  X(cuLaunchHostFunc, 10000, (::memarray::cu::Stream stream, ::memarray::cu::HostFunction function, void* data))     \
  X(cuEventCreate, 2000, (::memarray::cu::Event * event, unsigned int flags))                                        \
  X(cuEventDestroy, 4000, (::memarray::cu::Event event))                                                             \
  X(cuEventRecord, 2000, (::memarray::cu::Event event, ::memarray::cu::Stream stream))                               \
  X(cuEventQuery, 2000, (::memarray::cu::Event event))                                                               \
  X(cuEventSynchronize, 2000, (::memarray::cu::Event event))                                                         \
  X(cuEventElapsedTime, 2000, (float* milliseconds, ::memarray::cu::Event start, ::memarray::cu::Event end))         \
  X(cuMemPoolCreate, 11020,                                                                                          \
    (::memarray::cu::MemoryPool * pool, ::memarray::cu::MemoryPoolProperties const* properties))                     \
  X(cuMemPoolDestroy, 11020, (::memarray::cu::MemoryPool pool))                                                      \
  X(cuMemPoolSetAttribute, 11020, (::memarray::cu::MemoryPool pool, int attribute, void* value))                     \
  X(cuMemPoolGetAttribute, 11020, (::memarray::cu::MemoryPool pool, int attribute, void* value))                     \
  X(cuMemPoolTrimTo, 11020, (::memarray::cu::MemoryPool pool, std::size_t bytes_to_keep))                            \
  X(cuMemPoolSetAccess, 11020,                                                                                       \
    (::memarray::cu::MemoryPool pool, ::memarray::cu::MemoryAccess const* access, std::size_t count))                \
  X(cuDeviceGetDefaultMemPool, 11020, (::memarray::cu::MemoryPool * pool, ::memarray::cu::Device device))            \
  X(cuMemAllocFromPoolAsync, 11020,                                                                                  \
    (::memarray::cu::DevicePtr * pointer, std::size_t bytes, ::memarray::cu::MemoryPool pool,                        \
     ::memarray::cu::Stream stream))                                                                                 \
  X(cuMemAllocAsync, 11020, (::memarray::cu::DevicePtr * pointer, std::size_t bytes, ::memarray::cu::Stream stream)) \
  X(cuMemFreeAsync, 11020, (::memarray::cu::DevicePtr pointer, ::memarray::cu::Stream stream))                       \
  X(cuMemAlloc, 3020, (::memarray::cu::DevicePtr * pointer, std::size_t bytes))                                      \
  X(cuMemFree, 3020, (::memarray::cu::DevicePtr pointer))                                                            \
  X(cuMemAllocManaged, 6000, (::memarray::cu::DevicePtr * pointer, std::size_t bytes, unsigned int flags))           \
  X(cuMemHostAlloc, 2020, (void** pointer, std::size_t bytes, unsigned int flags))                                   \
  X(cuMemFreeHost, 2000, (void* pointer))                                                                            \
  X(cuMemGetInfo, 3020, (std::size_t* free, std::size_t* total))                                                     \
  X(cuPointerGetAttribute, 4000, (void* value, int attribute, ::memarray::cu::DevicePtr pointer))                    \
  X(cuMemcpyHtoDAsync, 3020,                                                                                         \
    (::memarray::cu::DevicePtr target, void const* source, std::size_t bytes, ::memarray::cu::Stream stream))        \
  X(cuMemcpyDtoHAsync, 3020,                                                                                         \
    (void* target, ::memarray::cu::DevicePtr source, std::size_t bytes, ::memarray::cu::Stream stream))              \
  X(cuMemcpyDtoDAsync, 3020,                                                                                         \
    (::memarray::cu::DevicePtr target, ::memarray::cu::DevicePtr source, std::size_t bytes,                          \
     ::memarray::cu::Stream stream))                                                                                 \
  X(cuMemcpyPeerAsync, 4000,                                                                                         \
    (::memarray::cu::DevicePtr target, ::memarray::cu::Context target_context, ::memarray::cu::DevicePtr source,     \
     ::memarray::cu::Context source_context, std::size_t bytes, ::memarray::cu::Stream stream))                      \
  X(cuMemsetD8Async, 3020,                                                                                           \
    (::memarray::cu::DevicePtr target, unsigned char value, std::size_t count, ::memarray::cu::Stream stream))
