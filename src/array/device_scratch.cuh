#pragma once

#include <memarray/array/launch_device.hpp>

#include <cuda_runtime.h>

#include <cstddef>

namespace memarray::detail {

/// Throws `CudaError` unless the call succeeded.
inline void check_cuda(cudaError_t code) {
  if (code != cudaSuccess) throw_launch_error(static_cast<int>(code), cudaGetErrorName(code), cudaGetErrorString(code));
}

/// Device memory for a scope, in the order of a stream.
class Scratch {
 public:
  Scratch(std::size_t bytes, cudaStream_t stream) : _stream(stream) {
    check_cuda(cudaMallocAsync(&_pointer, bytes, stream));
  }
  ~Scratch() { cudaFreeAsync(_pointer, _stream); }
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  [[nodiscard]] void* get() const noexcept { return _pointer; }

 private:
  void* _pointer = nullptr;
  cudaStream_t _stream;
};

template <class T>
struct Plus {
  __host__ __device__ T operator()(T const& left, T const& right) const { return static_cast<T>(left + right); }
};

}  // namespace memarray::detail
