#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/launch_box.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/reduce_kernel.hpp>
#include <memarray/detail/launch/run_host.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Throws `OverflowError` for a range with more indices than 64 bits can count.
[[noreturn]] MEMARRAY_API void throw_range_too_long();
/// Throws `OverflowError` for a functor of 32-bit indices and a launch that needs more.
[[noreturn]] MEMARRAY_API void throw_needs_wide_indices();

/// Copies the extents of arrays of one shape. Throws `ValueError` for different shapes.
MEMARRAY_API void copy_common_extents(HeldArrays const& arrays, std::int64_t* extents);

/// A launch over held arrays.
class MEMARRAY_API HeldLaunch {
 public:
  /// Throws `ValueError` (a negative extent; a box that does not fit an `update` or `overwrite` array),
  /// `OverflowError`.
  HeldLaunch(HeldArrays& arrays, BoxView const& box, HeldArrays::Extent extent);
  HeldLaunch(HeldLaunch const&) = delete;
  HeldLaunch& operator=(HeldLaunch const&) = delete;

  [[nodiscard]] ExecutionSpace where() const noexcept { return _arrays.where(); }
  /// Returns the number of positions.
  [[nodiscard]] std::int64_t size() const noexcept { return _size; }
  [[nodiscard]] bool is_whole() const noexcept { return _is_whole; }
  // Require a device.
  [[nodiscard]] BoundStream const& queue() const noexcept { return _arrays.queue(); }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _arrays.memory(); }

  /// Runs a kernel on host threads, or submits it to the simulated stream. Throws `CudaError`, `std::bad_alloc`, and
  /// what the kernel throws on the host.
  void run(KernelCode const& code, void const* kernel);
  /// Reduces on host threads or in the simulated stream. Writes the value to `result`, and waits for it.
  void reduce(ReduceCode const& code, void const* kernel, void* result);
  /// Like `reduce`, to memory that the kernel reaches. Does not wait on a device.
  void reduce_into(ReduceCode const& code, void const* kernel, void* result);
  /// Returns the element of the last array, a result.
  [[nodiscard]] std::byte* result() const noexcept { return _arrays.holds().back().target(); }
  /// Must precede work that the caller submits, and `run` does itself.
  void begin();

 private:
  void check_fit(KernelHold& hold, HeldArrays::Extent extent);
  void copy_rest(KernelHold const& hold) const;
  template <class Body>
  void run_on_threads(std::int64_t count, std::int64_t positions, Body const& body) const;
  void run_otherwise(KernelCode const& code, void const* kernel);
  template <class Body>
  void submit(Body body) const;

  HeldArrays& _arrays;
  BoxView _box;
  std::int64_t _size = 0;
  std::size_t _bytes = 0;  // read and written
  bool _is_whole = true;
  bool _copies_old = false;  // an `update` array writes fresh memory
  bool _keeps_rest = false;  // as does a part of an array
};

}  // namespace memarray::detail
