#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/context_handle.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace memarray::detail {

/// One operation of the library on a device, while its context is current: the memory that it needs besides its
/// operands, and its results. Real and simulated devices take the same memory and copy the same way.
class MEMARRAY_API DeviceRun {
 public:
  /// Part of a result: `bytes` bytes of device memory, and where on the host they go.
  struct Piece {
    void* to;
    std::byte const* from;
    std::size_t bytes;
  };

  /// `what` begins the error's message. Throws `CudaError` if the context cannot be entered; in a forked child without
  /// a call of CUDA. `queue` outlives the run.
  [[nodiscard]] DeviceRun(DeviceMemory& memory, Queue const& queue, char const* what);
  /// Frees the scratch memory in the order of the queue.
  ~DeviceRun();
  DeviceRun(DeviceRun const&) = delete;
  DeviceRun& operator=(DeviceRun const&) = delete;

  [[nodiscard]] Queue const& queue() const noexcept { return _queue; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _memory; }

  /// Device memory until the run ends, from where arrays have theirs. Throws `OutOfMemoryError`, `CudaError`.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);
  /// The same with a copy of host memory, which is not read after the call.
  [[nodiscard]] std::byte* upload(std::size_t bytes, std::byte const* data);
  /// Waits for the queue and then sets the results; after an error they are never written. Throws `CudaError`.
  void read_back(std::initializer_list<Piece> pieces);

 private:
  struct Scratch {
    std::byte* data;
    std::size_t bytes;
  };

  Queue const& _queue;
  DeviceMemory& _memory;
  EnteredContext _context;
  std::vector<Scratch> _scratch;
};

}  // namespace memarray::detail
