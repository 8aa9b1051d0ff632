#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>

namespace memarray {

/// The driver's functions, resolved at run time. Tables are never destroyed: handles point to them.
struct DriverTable {
#define MEMARRAY_DECLARE_DRIVER_FUNCTION(name, version, parameters) cu::Result(*name) parameters = nullptr;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_DECLARE_DRIVER_FUNCTION)
#undef MEMARRAY_DECLARE_DRIVER_FUNCTION
  /// Runs `kernel(data)` in stream order with access to device memory; null for real drivers.
  cu::Result (*launch_simulated)(cu::Stream stream, cu::HostFunction kernel, void* data) = nullptr;
  /// True if exports describe its memory as CUDA memory.
  bool exports_as_cuda = true;
  /// Identifies the process: forked children must not call the functions.
  std::uint32_t fork_generation = 0;

  [[nodiscard]] bool is_simulated() const noexcept { return launch_simulated != nullptr; }
};

/// Returns the driver for new handles: the simulated one, else the machine's, which the first call loads for good. Null
/// if it is absent, incomplete or fails to start, and in a child forked after its first use.
[[nodiscard]] MEMARRAY_API DriverTable const* driver() noexcept;
/// The reason why `driver()` is null; failed creations set `code`.
struct DriverAbsence {
  cu::Result code;
  char const* why;
};
/// Returns code 0 and an empty text if there is a driver.
[[nodiscard]] MEMARRAY_API DriverAbsence driver_absence() noexcept;

/// Returns the number of CUDA devices; 0 without a driver or on failure.
[[nodiscard]] MEMARRAY_API int device_count() noexcept;

namespace detail {

/// Returns a pointer in the type that the functions take.
[[nodiscard]] inline cu::DevicePtr device_address(void const* pointer) noexcept {
  return reinterpret_cast<cu::DevicePtr>(pointer);
}

/// Makes `driver()` return `table`, or the machine's if null. Returns the previous table.
DriverTable const* replace_driver(DriverTable const* table) noexcept;

/// Returns the table set by `replace_driver`. Loads no driver.
[[nodiscard]] DriverTable const* replacing_driver() noexcept;

/// The memory layer's functions that simulated devices call.
struct DriverHooks {
  /// Frees resources whose release was deferred.
  void (*settle)() noexcept;
  /// Drops all that the layer keeps for `table` at its block's end, when all work has completed.
  void (*end)(DriverTable const* table) noexcept;
};
void set_driver_hooks(DriverHooks const* hooks) noexcept;
/// Returns null until the hooks are set.
[[nodiscard]] DriverHooks const* driver_hooks() noexcept;

}  // namespace detail
}  // namespace memarray
