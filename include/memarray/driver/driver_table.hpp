#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>

namespace memarray {

/// The driver's functions, resolved at run time: nothing links the driver. Tables are never destroyed, so that a handle
/// can keep a pointer to the table that it was created with.
struct DriverTable {
#define MEMARRAY_DECLARE_DRIVER_FUNCTION(name, version, parameters) cu::Result(*name) parameters = nullptr;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_DECLARE_DRIVER_FUNCTION)
#undef MEMARRAY_DECLARE_DRIVER_FUNCTION
  /// Runs `kernel(data)` in the order of the stream, with access to device memory. Null for real drivers.
  cu::Result (*launch_simulated)(cu::Stream stream, cu::HostFunction kernel, void* data) = nullptr;
  /// True if exports to consumers describe the driver's memory as CUDA memory.
  bool exports_as_cuda = true;
  /// The generation of the process that created the table. Its functions must not be called in a forked child.
  std::uint32_t fork_generation = 0;

  [[nodiscard]] bool is_simulated() const noexcept { return launch_simulated != nullptr; }
};

/// Returns the driver for new handles: the simulated driver if there is one, else the machine's. Null if there is no
/// driver, or it lacks a function or fails to start. Null also in a child of a process that had begun to use the
/// driver. The first call loads the machine's driver, which is never unloaded.
[[nodiscard]] MEMARRAY_API DriverTable const* driver() noexcept;
/// The reason why `driver()` is null: the `CUresult` of failed creations of handles, and a readable text.
struct DriverAbsence {
  cu::Result code;
  char const* why;
};
/// Returns the reason why `driver()` is null; code 0 and an empty text if it is not.
[[nodiscard]] MEMARRAY_API DriverAbsence driver_absence() noexcept;

/// Returns the number of CUDA devices; 0 if there is no driver or it fails.
[[nodiscard]] MEMARRAY_API int device_count() noexcept;

namespace detail {

/// Makes `driver()` return `table` until the next call; null restores the machine's driver. Returns the previous
/// `table`.
DriverTable const* replace_driver(DriverTable const* table) noexcept;

/// Returns the driver that replaces the machine's, or null. Loads no driver.
[[nodiscard]] DriverTable const* replacing_driver() noexcept;

/// The functions of the memory layer that simulated devices call.
struct DriverHooks {
  /// Frees resources whose release was deferred because the dropping thread could not free them.
  void (*settle)() noexcept;
  /// Drops all that the layer keeps for `table`, whose work has completed and whose block of simulated devices ends.
  void (*end)(DriverTable const* table) noexcept;
};
void set_driver_hooks(DriverHooks const* hooks) noexcept;
/// Returns the hooks; null until they are set.
[[nodiscard]] DriverHooks const* driver_hooks() noexcept;

}  // namespace detail
}  // namespace memarray
