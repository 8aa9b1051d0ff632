#include "device_sort.hpp"

#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/key_sort.hpp>
#include <memarray/detail/launch/launch_device.hpp>

#include <cub/device/device_radix_sort.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {
namespace {

constexpr unsigned block_threads = 256;

unsigned blocks_for(std::int64_t count) noexcept {
  std::int64_t const blocks = (count + block_threads - 1) / block_threads;
  return static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
}

template <class Kernel>
__global__ void run_sort(Kernel kernel) {
  kernel.run({blockIdx.x, threadIdx.x, gridDim.x, blockDim.x});
}

struct CudaMachine {
  DeviceRun& run;

  template <class Kernel>
  void launch(Kernel const& kernel, std::int64_t size) {
    run_sort<<<blocks_for(size), block_threads, 0, *run.bound_stream().stream>>>(kernel);
    check_cuda(cudaGetLastError());
  }
  std::byte* scratch(std::size_t bytes) { return run.scratch(bytes); }
  void copy(std::byte* to, std::byte const* from, std::size_t bytes) {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, *run.bound_stream().stream));
  }
  template <class U, class Position>
  void sort_pairs(U const* orders, U* sorted, Position const* positions, Position* order, std::int64_t size) {
    run_cub(
        run,
        [&](void* scratch, std::size_t& bytes) {
          return cub::DeviceRadixSort::SortPairs(scratch, bytes, orders, sorted, positions, order, size, 0,
                                                 static_cast<int>(8 * sizeof(U)), *run.bound_stream().stream);
        },
        "sorting on a device");
  }
};

}  // namespace

void sort_on_device(KeySort const& sort, DeviceRun& run) {
  CudaMachine machine{run};
  DeviceSort(sort, machine).run();
}

}  // namespace memarray::detail
