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
struct BoundStream;

/// The elements of a job. `data` is the element with all indices 0.
struct StridedElements {
  std::byte* data = nullptr;
  DType dtype{};
  StridedLayout layout;
};

/// One operation on strided memory, as a value, so that it can run later and elsewhere: at once on the host, as a host
/// function in a simulated stream, or as a kernel on a device.
struct MEMARRAY_API StridedJob {
  enum class Kind : std::uint8_t { copy, reduce, fill, add_index };

  Kind kind = Kind::copy;
  Reduction reduction = Reduction::sum;
  AxisMask axes = 0;
  StridedElements target{};
  StridedElements source{};          ///< only read; null data of `add_index`: its target
  std::vector<std::byte> element{};  ///< the element that `fill` sets

  /// Throws the `TypeError` or `ValueError` that `run_on_host` would throw. Accesses no memory.
  void check() const;
  void run_on_host() const;
  /// Returns a fill with the result of this reduction over no elements.
  [[nodiscard]] StridedJob of_nothing() const;
  /// Submits the job, which must have been checked, for memory of the device of `queue`. The job is done when the
  /// stream reaches this point. Throws `CudaError`, also if the library was compiled without nvcc and the device is not
  /// simulated; `OutOfMemoryError`.
  void submit(DeviceMemory& memory, BoundStream const& queue) const;

 private:
  [[nodiscard]] StridedSource read() const noexcept { return {source.data, source.dtype, source.layout}; }
  [[nodiscard]] StridedTarget written() const noexcept { return {target.data, target.dtype, target.layout}; }
};

}  // namespace memarray::detail
