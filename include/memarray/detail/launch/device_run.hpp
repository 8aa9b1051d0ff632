#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/context_handle.hpp>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace memarray::detail {

/// An operation on a real or simulated device, with scratch memory.
class MEMARRAY_API DeviceRun {
 public:
  /// A copy from device memory to the host.
  struct Piece {
    void* to;
    std::byte const* from;
    std::size_t bytes;
  };

  /// Enters the context of `bound_stream`, which must outlive the run. `what` begins error messages. Throws
  /// `CudaError`.
  [[nodiscard]] DeviceRun(DeviceMemory& memory, BoundStream const& bound_stream, char const* what);
  /// Frees the scratch memory in stream order.
  ~DeviceRun();
  DeviceRun(DeviceRun const&) = delete;
  DeviceRun& operator=(DeviceRun const&) = delete;

  [[nodiscard]] BoundStream const& bound_stream() const noexcept { return _bound_stream; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _memory; }

  /// Returns memory, valid until the run ends. Throws `OutOfMemoryError`, `CudaError`.
  [[nodiscard]] std::byte* scratch(std::size_t bytes);
  /// Returns scratch memory with a copy of `data`, which is not read later. Throws like `scratch`.
  [[nodiscard]] std::byte* upload(std::size_t bytes, std::byte const* data);
  /// Blocks until the stream is done, then writes all pieces; none after an error. Throws `CudaError`.
  void read_back(std::initializer_list<Piece> pieces);

 private:
  struct Scratch {
    std::byte* data;
    std::size_t bytes;
  };

  BoundStream const& _bound_stream;
  DeviceMemory& _memory;
  EnteredContext _context;
  std::vector<Scratch> _scratch;
};

}  // namespace memarray::detail
