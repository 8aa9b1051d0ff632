#include "device_scratch.cuh"
#include "device_types.cuh"

#include <memarray/array/launch_device.hpp>
#include <memarray/array/sum.hpp>
#include <memarray/base/errors.hpp>

#include <cub/device/device_reduce.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

template <class To>
struct Widen {
  template <class From>
  __host__ __device__ To operator()(From const& value) const {
    if constexpr (requires { static_cast<To>(value); })
      return static_cast<To>(value);
    else
      return static_cast<To>(static_cast<float>(value));
  }
};

template <class T>
void sum_of(std::int64_t size, void const* source, void* result, cudaStream_t stream) {
  using Sum = DeviceType<typename SumOf<T>::type>;
  auto const* const elements = static_cast<DeviceType<T> const*>(source);
  Scratch const total(sizeof(Sum), stream);
  std::size_t bytes = 0;
  auto const reduce = [&](void* scratch) {
    check_cuda(cub::DeviceReduce::TransformReduce(scratch, bytes, elements, static_cast<Sum*>(total.get()), size,
                                                  Plus<Sum>{}, Widen<Sum>{}, Sum{}, stream));
  };
  reduce(nullptr);
  Scratch const scratch(bytes, stream);
  reduce(scratch.get());
  check_cuda(cudaMemcpyAsync(result, total.get(), sizeof(Sum), cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaStreamSynchronize(stream));
}

}  // namespace

void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result, Queue const& queue) {
  ContextScope const scope(queue.context);
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return sum_of<type>(size, source, result, *queue.stream);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("sum is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
