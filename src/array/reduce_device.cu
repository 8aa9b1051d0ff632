#include "device_types.cuh"

#include <memarray/array/launch_device.hpp>
#include <memarray/array/sum.hpp>
#include <memarray/base/errors.hpp>

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw_launch_error(static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
}

/// Device memory for a scope, in the order of a stream.
class Scratch {
 public:
  Scratch(std::size_t bytes, cudaStream_t stream) : _stream(stream) { check(cudaMallocAsync(&_pointer, bytes, stream)); }
  ~Scratch() { cudaFreeAsync(_pointer, _stream); }
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  [[nodiscard]] void* get() const noexcept { return _pointer; }

 private:
  void* _pointer = nullptr;
  cudaStream_t _stream;
};

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
struct Plus {
  __host__ __device__ T operator()(T const& left, T const& right) const { return static_cast<T>(left + right); }
};

template <class T>
void sum_of(std::int64_t size, void const* source, void* result, cudaStream_t stream) {
  using Sum = DeviceType<typename SumOf<T>::type>;
  auto const* const elements = static_cast<DeviceType<T> const*>(source);
  Scratch const total(sizeof(Sum), stream);
  std::size_t bytes = 0;
  auto const reduce = [&](void* scratch) {
    check(cub::DeviceReduce::TransformReduce(scratch, bytes, elements, static_cast<Sum*>(total.get()), size, Plus<Sum>{},
                                             Widen<Sum>{}, Sum{}, stream));
  };
  reduce(nullptr);
  Scratch const scratch(bytes, stream);
  reduce(scratch.get());
  check(cudaMemcpyAsync(result, total.get(), sizeof(Sum), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
}

template <class T>
void scan_of(std::int64_t size, void const* source, void* target, void* result, cudaStream_t stream) {
  using Element = DeviceType<T>;
  if (size == 0) return;
  auto const* const from = static_cast<Element const*>(source);
  auto* const to = static_cast<Element*>(target);
  Element last{};
  Element before{};
  check(cudaMemcpyAsync(&last, from + size - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
  std::size_t bytes = 0;
  check(cub::DeviceScan::ExclusiveScan(nullptr, bytes, from, to, Plus<Element>{}, Element{}, size, stream));
  Scratch const scratch(bytes, stream);
  check(cub::DeviceScan::ExclusiveScan(scratch.get(), bytes, from, to, Plus<Element>{}, Element{}, size, stream));
  check(cudaMemcpyAsync(&before, to + size - 1, sizeof before, cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  *static_cast<Element*>(result) = Plus<Element>{}(before, last);
}

}  // namespace

void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result, StreamHandle const& stream) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return sum_of<type>(size, source, result, *stream);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("sum is not compiled for " + std::string(dtype.name_view()));
}

void exclusive_scan_on_device(DType const& dtype, std::int64_t size, void const* source, void* target, void* result,
                              StreamHandle const& stream) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return scan_of<type>(size, source, target, result, *stream);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("exclusive_scan is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
