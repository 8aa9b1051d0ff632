#include "device_scratch.cuh"

#include <memarray/array/device_strided_job.hpp>
#include <memarray/array/launch_device.hpp>
#include <memarray/array/launch_plan.hpp>
#include <memarray/resource/last_error.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace memarray::detail {
namespace {

template <class Kernel>
__global__ void run_strided(Kernel kernel) {
  kernel.run({blockIdx.x, threadIdx.x, gridDim.x, blockDim.x});
}

/// A stream of a device.
class CudaMachine {
 public:
  explicit CudaMachine(Queue const& queue) : _queue(queue), _scope(queue.context) {
    if (!_scope.driver()) throw_last_error("launching a kernel");
  }

  template <class Kernel>
  void launch(Kernel kernel, std::int64_t size) {
    static constinit OccupancyCache cache;
    auto const function = reinterpret_cast<void const*>(&run_strided<Kernel>);
    LaunchPlan const plan = plan_launch(size, 0, occupancy_of(function, device_id_of(_queue.context), cache));
    void* parameters[] = {&kernel};
    check_launch(cudaLaunchKernel(function, dim3(plan.blocks), dim3(plan.threads), parameters, 0, *_queue.stream));
  }
  std::byte* scratch(std::size_t bytes) {
    _scratch.push_back(std::make_unique<Scratch>(bytes, *_queue.stream));
    return static_cast<std::byte*>(_scratch.back()->get());
  }
  std::byte* upload(std::size_t bytes, std::byte const* data) {
    std::byte* const copy = scratch(bytes);
    // Pageable memory was read when the call returns.
    check_cuda(cudaMemcpyAsync(copy, data, bytes, cudaMemcpyHostToDevice, *_queue.stream));
    return copy;
  }

 private:
  Queue const& _queue;
  ContextScope _scope;
  std::vector<std::unique_ptr<Scratch>> _scratch;
};

}  // namespace

void strided_on_device(StridedJob const& job, Queue const& queue) {
  CudaMachine machine(queue);
  DeviceStridedJob(job, machine).run();
}

}  // namespace memarray::detail
