#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/context_handle.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace memarray::detail {

/// One operation of the library on a device: its current context, scratch memory and results. Real and simulated
/// devices take memory and copy in one way.
class MEMARRAY_API DeviceRun {
 public:
  /// A part of a result: `bytes` bytes of device memory, and their destination on the host.
  struct Piece {
    void* to;
    std::byte const* from;
    std::size_t bytes;
  };

  /// Enters the context of `queue`, which must outlive the run. `what` begins error messages. Throws `CudaError` if the
  /// context cannot be entered; in a forked child it throws without calling CUDA.
  [[nodiscard]] DeviceRun(DeviceMemory& memory, BoundStream const& queue, char const* what);
  /// Frees the scratch memory in stream order.
  ~DeviceRun();
  DeviceRun(DeviceRun const&) = delete;
  DeviceRun& operator=(DeviceRun const&) = delete;

  [[nodiscard]] BoundStream const& queue() const noexcept { return _queue; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _memory; }

  /// Returns device memory until the run ends, from the resource that arrays use. Throws `OutOfMemoryError`,
  /// `CudaError`.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);
  /// Returns scratch memory with a copy of host memory, which is not read after the call. Throws like `scratch`.
  [[nodiscard]] std::byte* upload(std::size_t bytes, std::byte const* data);
  /// Blocks until the queue is done, then sets the results. After an error the results are never written. Throws
  /// `CudaError`.
  void read_back(std::initializer_list<Piece> pieces);

 private:
  struct Scratch {
    std::byte* data;
    std::size_t bytes;
  };

  BoundStream const& _queue;
  DeviceMemory& _memory;
  EnteredContext _context;
  std::vector<Scratch> _scratch;
};

}  // namespace memarray::detail
