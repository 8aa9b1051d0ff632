#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace memarray::detail {

struct KeySort;
struct StridedJob;

enum class ExecutionSpace {
  host,       ///< on host threads, now
  simulated,  ///< as a host function in stream order
  device,
};

/// Submits `kernel(data)` to a simulated stream. Throws `CudaError`.
MEMARRAY_API void submit_emulated(BoundStream const& bound_stream, cu::HostFunction kernel, void* data);

/// Submits a callable. Objects that it refers to must live until it runs. Throws `CudaError`.
template <class Kernel>
void launch_emulated(BoundStream const& bound_stream, Kernel kernel) {
  auto owned = std::make_unique<Kernel>(std::move(kernel));
  cu::HostFunction const run = [](void* data) { (*std::unique_ptr<Kernel>(static_cast<Kernel*>(data)))(); };
  submit_emulated(bound_stream, run, owned.get());
  static_cast<void>(owned.release());
}
/// Runs `kernel()` on a simulated device, and waits for its result. Throws `CudaError`, `OutOfMemoryError`.
template <class Result, class Kernel>
Result result_of(DeviceRun& run, Kernel kernel) {
  std::byte* const place = run.scratch(sizeof(Result));
  auto* const seen = static_cast<Result*>(testing::detail::reachable(place));
  launch_emulated(run.bound_stream(), [seen, kernel] { *seen = kernel(); });
  Result result{};
  run.read_back({{&result, place, sizeof result}});
  return result;
}
[[noreturn]] MEMARRAY_API void throw_not_compiled_for_device();
/// Throws `OutOfMemoryError` if memory ran out, else `CudaError`.
[[noreturn]] MEMARRAY_API void throw_runtime_error(int code, char const* name, char const* what, char const* why);

// Kernels for shipped dtypes; without nvcc they throw `CudaError`. `result` and `total` are host memory, for which the
// calls block. Other pointers are device memory.

void strided_on_device(StridedJob const& job, DeviceRun& run);
/// `result`: one element of SumOf<T>.
MEMARRAY_API void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result,
                                DeviceRun& run);
/// Sums up to each element, or before it. `total`: null, or receives the sum of all.
MEMARRAY_API void scan_on_device(DType const& dtype, bool is_inclusive, std::int64_t size, void const* source,
                                 void* target, void* total, DeviceRun& run);
void sort_on_device(KeySort const& sort, DeviceRun& run);

}  // namespace memarray::detail

#if defined(__CUDACC__)

#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/launch_plan.hpp>
#include <memarray/detail/launch/runtime_check.hpp>

#include <cuda/std/array>

#include <cuda_runtime.h>

namespace memarray::detail {
inline namespace MEMARRAY_LAUNCH_NAMESPACE {

// Every library has its own CUDA runtime, which knows only that library's kernels.
#define MEMARRAY_OF_THIS_LIBRARY __attribute__((visibility("hidden")))

struct MEMARRAY_OF_THIS_LIBRARY CudaRuntime {
  static constexpr int success = cudaSuccess;
  static void take_last_error() { static_cast<void>(cudaGetLastError()); }
  [[noreturn]] static void throw_error(int code, char const* what) {
    auto const error = static_cast<cudaError_t>(code);
    throw_runtime_error(code, cudaGetErrorName(error), what, cudaGetErrorString(error));
  }
};

/// Makes a CUDA runtime call. Throws `CudaError`, `OutOfMemoryError`.
template <class Call>
MEMARRAY_OF_THIS_LIBRARY void check_cuda(Call const& call, char const* what = "launching a kernel") {
  check_runtime(CudaRuntime(), what, call);
}

/// Calls a CUB algorithm for its scratch size in `bytes`, then to run.
template <class Algorithm>
void run_cub(DeviceRun& run, Algorithm const& algorithm, char const* what = "launching a kernel") {
  std::size_t bytes = 0;
  check_cuda([&] { return algorithm(nullptr, bytes); }, what);
  void* const scratch = run.scratch(bytes);
  check_cuda([&] { return algorithm(scratch, bytes); }, what);
}

MEMARRAY_OF_THIS_LIBRARY inline Occupancy occupancy_of(void const* kernel, int device_id, OccupancyCache& cache) {
  // Larger blocks leave a multiprocessor idle while their last threads end.
  constexpr int most_threads = 256;
  if (auto const known = cache.find(device_id)) return *known;
  Occupancy found{};
  check_cuda(
      [&] { return cudaOccupancyMaxPotentialBlockSize(&found.blocks, &found.threads, kernel, 0, most_threads); });
  check_cuda([&] { return cudaDeviceGetAttribute(&found.processors, cudaDevAttrMultiProcessorCount, device_id); });
  cache.keep(device_id, found);
  return found;
}

template <class Kernel>
__global__ void run_threads(Kernel kernel) {
  kernel.run({blockIdx.x, threadIdx.x, gridDim.x, blockDim.x});
}

/// Plans a launch in the current context. `width`: elements of a vector; 0 without vectors. Throws `CudaError`.
template <class Kernel>
LaunchPlan plan_kernel(std::int64_t size, int width, BoundStream const& bound_stream) {
  static constinit OccupancyCache cache;
  auto const function = reinterpret_cast<void const*>(&run_threads<Kernel>);
  return plan_launch(size, width, occupancy_of(function, device_id_of(bound_stream.context), cache));
}
/// Submits `kernel.run(place)` for each thread, in the current context. Throws `CudaError`.
template <class Kernel>
void submit_kernel(Kernel& kernel, LaunchPlan const& plan, BoundStream const& bound_stream) {
  auto const function = reinterpret_cast<void const*>(&run_threads<Kernel>);
  void* parameters[] = {&kernel};
  check_cuda([&] {
    return cudaLaunchKernel(function, dim3(plan.blocks), dim3(plan.threads), parameters, 0, *bound_stream.stream);
  });
}

template <class Loop>
void launch_loop(Loop& loop, std::int64_t size, BoundStream const& bound_stream) {
  EnteredContext const context(bound_stream.context, "launching a kernel");
  LaunchPlan const plan = plan_kernel<Loop>(size, loop.is_aligned() ? Loop::width : 0, bound_stream);
  loop.vectors = static_cast<decltype(loop.vectors)>(plan.vectors);
  submit_kernel(loop, plan, bound_stream);
}

/// Submits a kernel. `is_whole`: its `ElementArgument`s visit whole arrays. Throws `CudaError`, `OutOfMemoryError`;
/// later failures appear at a later wait.
template <class IndexT, int ndim, class F, class... Arguments>
void launch_device(HostKernel<IndexT, ndim, F, Arguments...> const& kernel, bool is_whole,
                   BoundStream const& bound_stream) {
  std::int64_t const size = kernel.box.size();
  if (size == 0) return;
  auto const launch = [&]<class U>(U) {
    auto loop = device_loop<U>(kernel, is_whole);
    launch_loop(loop, size, bound_stream);
  };
  if (size <= INT32_MAX) return launch(std::uint32_t{});
  if constexpr (sizeof(IndexT) == 8) launch(std::uint64_t{});
}

#undef MEMARRAY_OF_THIS_LIBRARY

}  // namespace MEMARRAY_LAUNCH_NAMESPACE
}  // namespace memarray::detail

#endif
