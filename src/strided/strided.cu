#include "device_strided_job.hpp"

#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/launch_plan.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {
namespace {

template <class Kernel>
__global__ void run_strided(Kernel kernel) {
  kernel.run({blockIdx.x, threadIdx.x, gridDim.x, blockDim.x});
}

struct CudaMachine {
  DeviceRun& run;

  template <class Kernel>
  void launch(Kernel kernel, std::int64_t size) {
    static constinit OccupancyCache cache;
    BoundStream const& bound_stream = run.bound_stream();
    auto const function = reinterpret_cast<void const*>(&run_strided<Kernel>);
    LaunchPlan const plan = plan_launch(size, 0, occupancy_of(function, device_id_of(bound_stream.context), cache));
    void* parameters[] = {&kernel};
    check_cuda(cudaLaunchKernel(function, dim3(plan.blocks), dim3(plan.threads), parameters, 0, *bound_stream.stream));
  }
  std::byte* scratch(std::size_t bytes) { return run.scratch(bytes); }
  std::byte* upload(std::size_t bytes, std::byte const* data) { return run.upload(bytes, data); }
};

}  // namespace

void strided_on_device(StridedJob const& job, DeviceRun& run) {
  CudaMachine machine{run};
  DeviceStridedJob(job, machine).run();
}

}  // namespace memarray::detail
