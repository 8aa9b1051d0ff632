#pragma once

#include <memarray/base/config.hpp>

#include <dlpack/dlpack.h>

#include <string>
#include <string_view>

namespace memarray {

/// A DLPack device type and an ordinal (0 for the CPU).
struct Device {
  DLDeviceType type = kDLCPU;
  int id = 0;

  [[nodiscard]] bool is_cpu() const noexcept { return type == kDLCPU; }
  friend bool operator==(Device const&, Device const&) = default;
};

/// Returns "cpu", "cuda:0", …
[[nodiscard]] MEMARRAY_API std::string to_string(Device device);
/// Parses "cpu", "cuda" or "cuda:<number>". Throws `ValueError`.
[[nodiscard]] MEMARRAY_API Device device_from_string(std::string const& word);

namespace detail {

/// Returns `device`, where arrays may have their memory. The CPU has one number, so its others become 0. Throws the
/// `ValueError` for negative numbers and for other kinds of devices; for these its message begins with `what`.
[[nodiscard]] MEMARRAY_API Device checked_device(Device device, char const* what);
/// Throws the `ValueError` for a `word` that names no device. The message contains `shown`.
[[noreturn]] MEMARRAY_API void throw_no_device_named(std::string_view word, std::string const& shown);

}  // namespace detail

}  // namespace memarray
