#include "device_scratch.cuh"
#include "device_types.cuh"

#include <memarray/array/launch_device.hpp>
#include <memarray/base/errors.hpp>

#include <cub/device/device_scan.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

template <class T>
void scan_of(std::int64_t size, void const* source, void* target, void* result, cudaStream_t stream) {
  using Element = DeviceType<T>;
  if (size == 0) return;
  auto const* const from = static_cast<Element const*>(source);
  auto* const to = static_cast<Element*>(target);
  Element last{};
  Element before{};
  check_cuda(cudaMemcpyAsync(&last, from + size - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
  std::size_t bytes = 0;
  check_cuda(cub::DeviceScan::ExclusiveScan(nullptr, bytes, from, to, Plus<Element>{}, Element{}, size, stream));
  Scratch const scratch(bytes, stream);
  check_cuda(cub::DeviceScan::ExclusiveScan(scratch.get(), bytes, from, to, Plus<Element>{}, Element{}, size, stream));
  check_cuda(cudaMemcpyAsync(&before, to + size - 1, sizeof before, cudaMemcpyDeviceToHost, stream));
  check_cuda(cudaStreamSynchronize(stream));
  *static_cast<Element*>(result) = Plus<Element>{}(before, last);
}

}  // namespace

void exclusive_scan_on_device(DType const& dtype, std::int64_t size, void const* source, void* target, void* result,
                              Queue const& queue) {
  ContextScope const scope(queue.context);
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return scan_of<type>(size, source, target, result, *queue.stream);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("exclusive_scan is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
