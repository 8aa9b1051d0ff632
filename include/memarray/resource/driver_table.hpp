#pragma once

#include <memarray/base/config.hpp>

/// The functions of the CUDA driver that memarray calls: X(name, version of CUDA that has this form, parameters). They
/// all return a `CUresult`, as an int here, where no CUDA header is needed.
#define MEMARRAY_FOR_EACH_DRIVER_FUNCTION(X)  \
  X(cuInit, 2000, (unsigned int flags))       \
  X(cuDriverGetVersion, 2020, (int* version)) \
  X(cuDeviceGetCount, 2000, (int* count))     \
  X(cuGetErrorName, 6000, (int error, char const** name))

namespace memarray {

/// The driver's functions, found at run time: nothing links to the driver.
struct DriverTable {
#define MEMARRAY_DECLARE_DRIVER_FUNCTION(name, version, parameters) int(*name) parameters = nullptr;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_DECLARE_DRIVER_FUNCTION)
#undef MEMARRAY_DECLARE_DRIVER_FUNCTION
};

/// Null where there is no driver, where it is too old, and in the child of a process that had begun to use it. Loaded
/// by the first call, never unloaded.
[[nodiscard]] MEMARRAY_API DriverTable const* driver() noexcept;

/// How many CUDA devices there are; 0 where there is no driver or it fails.
[[nodiscard]] MEMARRAY_API int device_count() noexcept;

}  // namespace memarray
