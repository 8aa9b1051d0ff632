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

/// Throw `OverflowError`.
[[noreturn]] MEMARRAY_API void throw_range_too_long();
[[noreturn]] MEMARRAY_API void throw_needs_wide_indices();

/// Copies the common shape to `extents`. Throws `ValueError` if shapes differ.
MEMARRAY_API void copy_common_extents(HeldArrays const& arrays, std::int64_t* extents);

/// One launch over held arrays, compiled once for all functors.
class MEMARRAY_API HeldLaunch {
 public:
  /// Throws `ValueError` (negative extent; box that does not fit an array), `OverflowError`.
  HeldLaunch(HeldArrays& arrays, BoxView const& box, HeldArrays::Extent extent);
  HeldLaunch(HeldLaunch const&) = delete;
  HeldLaunch& operator=(HeldLaunch const&) = delete;

  [[nodiscard]] ExecutionSpace where() const noexcept { return _arrays.where(); }
  [[nodiscard]] std::int64_t size() const noexcept { return _size; }
  /// True if the box covers all `update` and `overwrite` arrays.
  [[nodiscard]] bool is_whole() const noexcept { return _is_whole; }
  // Require a device.
  [[nodiscard]] BoundStream const& bound_stream() const noexcept { return _arrays.bound_stream(); }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _arrays.memory(); }

  /// Runs a kernel on host threads, or submits it to a simulated stream. Throws `CudaError`, `std::bad_alloc`, and on
  /// the host the kernel's exceptions.
  void run(KernelCode const& code, void const* kernel);
  /// Like `run`, but waits for the value and writes it to `result` on the host.
  void reduce(ReduceCode const& code, void const* kernel, void* result);
  /// Like `reduce`, to memory that the kernel can access. Does not wait on a device.
  void reduce_into(ReduceCode const& code, void const* kernel, void* result);
  /// Returns the address of the result, the last of `holds()`.
  [[nodiscard]] std::byte* result() const noexcept { return _arrays.holds().back().target(); }
  /// Must precede submitted work; `run` and `reduce` call it. Copies elements outside the box to fresh memory.
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
  bool _keeps_rest = false;  // a partial launch writes fresh memory
};

}  // namespace memarray::detail
