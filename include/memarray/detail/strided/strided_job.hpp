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

/// `data`: the element at indices 0.
struct StridedElements {
  std::byte* data = nullptr;
  DType dtype{};
  StridedLayout layout;
};

/// An operation to run later: on the host, in a simulated stream, or on a device.
struct MEMARRAY_API StridedJob {
  enum class Kind : std::uint8_t { copy, reduce, fill, add_index };

  Kind kind = Kind::copy;
  Reduction reduction = Reduction::sum;
  AxisMask axes = 0;
  StridedElements target{};
  StridedElements source{};          ///< only read; null data of `add_index` means the target
  std::vector<std::byte> element{};  ///< for `fill`

  /// Throws like `run_on_host`, except for the target dtype of a reduction. Accesses no memory.
  void check() const;
  void run_on_host() const;
  /// Returns a fill with this reduction's result over no elements.
  [[nodiscard]] StridedJob of_nothing() const;
  /// Submits the checked job. Throws `OutOfMemoryError`, `CudaError` (also on a real device if compiled without nvcc).
  void submit(DeviceMemory& memory, BoundStream const& bound_stream) const;

 private:
  [[nodiscard]] StridedSource read() const noexcept { return {source.data, source.dtype, source.layout}; }
  [[nodiscard]] StridedTarget written() const noexcept { return {target.data, target.dtype, target.layout}; }
};

}  // namespace memarray::detail
