#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/strided/strided_operand.hpp>
#include <memarray/detail/strided/strided_reduce.hpp>
#include <memarray/strided/strided_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memarray::detail {

class DeviceMemory;
struct Queue;

/// Elements of a job. `data`: the one with all indices 0.
struct StridedElements {
  std::byte* data = nullptr;
  DType dtype{};
  StridedLayout layout;
};

/// One operation on strided memory, by value, so that it can be done later and elsewhere: at once on the host, as a
/// host function in a simulated stream, as a kernel on a device.
struct MEMARRAY_API StridedJob {
  enum class Kind : std::uint8_t { copy, reduce, fill, add_index };

  Kind kind = Kind::copy;
  Reduction reduction = Reduction::sum;
  AxisMask axes = 0;
  StridedElements target{};
  StridedElements source{};          ///< of copies, which convert, and reductions; only read
  std::vector<std::byte> element{};  ///< what `fill` sets

  /// Throws what `run_on_host` would: `TypeError`, `ValueError`. Looks at no memory.
  void check() const;
  void run_on_host() const;
  /// Of a reduction of no elements: a fill with what that gives.
  [[nodiscard]] StridedJob of_nothing() const;
  /// The same on memory of the device of `queue`; it is over when the stream has come so far. A job that was checked.
  /// Throws `CudaError`, also where the library was compiled without nvcc and the device is no simulated one;
  /// `OutOfMemoryError`.
  void submit(DeviceMemory& memory, Queue const& queue) const;

 private:
  [[nodiscard]] StridedSource read() const noexcept { return {source.data, source.dtype, source.layout}; }
  [[nodiscard]] StridedTarget written() const noexcept { return {target.data, target.dtype, target.layout}; }
};

}  // namespace memarray::detail
