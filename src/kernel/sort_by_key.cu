#include "device_sort.hpp"
#include "launch/cuda_machine.cuh"

#include <memarray/detail/launch/key_sort.hpp>

#include <cub/device/device_radix_sort.cuh>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {
namespace {

struct SortMachine : CudaMachine {
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
  SortMachine machine{{run}};
  DeviceSort(sort, machine).run();
}

}  // namespace memarray::detail
