#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_functions.hpp>

#include <cstdint>

namespace memarray {

/// The driver's functions, found at run time: nothing links to the driver. Tables are never destroyed, so that a handle
/// can keep the one that it was made with.
struct DriverTable {
#define MEMARRAY_DECLARE_DRIVER_FUNCTION(name, version, parameters) cu::Result(*name) parameters = nullptr;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_DECLARE_DRIVER_FUNCTION)
#undef MEMARRAY_DECLARE_DRIVER_FUNCTION
  /// Runs `kernel(data)` in the order of the stream, with device memory in reach; only simulated drivers have it.
  cu::Result (*launch_simulated)(cu::Stream stream, cu::HostFunction kernel, void* data) = nullptr;
  /// Whether consumers are told that its memory is CUDA's.
  bool lends_as_cuda = true;
  /// Of the process that made the table; no function of it may be called in a child of that.
  std::uint32_t fork_generation = 0;

  [[nodiscard]] bool is_simulated() const noexcept { return launch_simulated != nullptr; }
};

/// The driver that new handles are made with: the simulated one if there is one, else the machine's. Null where there
/// is no driver, where it lacks a function or fails to start, and in the child of a process that had begun to use it.
/// The machine's is loaded by the first call, never unloaded.
[[nodiscard]] MEMARRAY_API DriverTable const* driver() noexcept;
/// Why `driver()` is null: the `CUresult` that creations of handles then report, and words for people.
struct DriverAbsence {
  cu::Result code;
  char const* why;
};
[[nodiscard]] MEMARRAY_API DriverAbsence driver_absence() noexcept;

/// How many CUDA devices there are; 0 where there is no driver or it fails.
[[nodiscard]] MEMARRAY_API int device_count() noexcept;

namespace detail {

/// Makes `table` what `driver()` returns until it is replaced again; null: the machine's own. Returns the one before.
DriverTable const* replace_driver(DriverTable const* table) noexcept;

/// The one that replaces the machine's, or null.
[[nodiscard]] DriverTable const* replacing_driver() noexcept;

/// What the layer above has to do with simulated devices.
struct DriverHooks {
  /// Gives back what was dropped where it could not be.
  void (*settle)() noexcept;
  /// A block's work is over and its driver goes: lets go of what is kept for it.
  void (*end)(DriverTable const* table) noexcept;
};
void set_driver_hooks(DriverHooks const* hooks) noexcept;
/// Null until they were set.
[[nodiscard]] DriverHooks const* driver_hooks() noexcept;

}  // namespace detail
}  // namespace memarray
