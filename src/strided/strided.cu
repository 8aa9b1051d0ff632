#include "device_strided_job.hpp"
#include "launch/cuda_machine.cuh"

namespace memarray::detail {

void strided_on_device(StridedJob const& job, DeviceRun& run) {
  CudaMachine machine{run};
  DeviceStridedJob(job, machine).run();
}

}  // namespace memarray::detail
