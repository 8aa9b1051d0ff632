#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>

#include <string>

namespace memarray::detail {

void throw_not_compiled_for_device() {
  throw CudaError(cuda_code::not_supported,
                  "this kernel has no code for CUDA devices, where its array is: it was compiled without nvcc, or "
                  "combines std::complex, whose functions are the host's. Compile the file as CUDA, combine a struct "
                  "of two numbers, or move the array with move_memory(kDLCPU, …)");
}

void throw_runtime_error(int code, char const* name, char const* what, char const* why) {
  std::string const message = std::string(what) + " failed: " + why;
  if (code == cuda_code::out_of_memory) throw OutOfMemoryError(message);
  throw CudaError(code, name, message);
}

void submit_emulated(BoundStream const& bound_stream, cu::HostFunction kernel, void* data) {
  EnteredContext const context(bound_stream.context, "launching a kernel");
  RuntimeRelease const released;
  check_driver(context.driver().launch_simulated(*bound_stream.stream, kernel, data), "launching a kernel");
}

#if !MEMARRAY_HAS_CUDA

void strided_on_device(StridedJob const&, DeviceRun&) { throw_not_compiled_for_device(); }

void sum_on_device(DType const&, std::int64_t, void const*, void*, DeviceRun&) { throw_not_compiled_for_device(); }

void scan_on_device(DType const&, bool, std::int64_t, void const*, void*, void*, DeviceRun&) {
  throw_not_compiled_for_device();
}

void sort_on_device(KeySort const&, DeviceRun&) { throw_not_compiled_for_device(); }

#endif

}  // namespace memarray::detail
