#pragma once

#include <memarray/interop/c_api.h>
#include <memarray/base/config.hpp>

#include <string>
#include <vector>

namespace memarray {

/// Turns tracing of new resources on or off; at first it is off. A traced resource is remembered until it is closed. At
/// its end the process reports on stderr which resources were never closed.
MEMARRAY_API void trace_resources(bool on) noexcept;
[[nodiscard]] MEMARRAY_API bool traces_resources() noexcept;
/// Returns a description of each traced resource that is still open, in the order in which they were made.
[[nodiscard]] MEMARRAY_API std::vector<std::string> open_resources();

namespace detail {

/// Traces `resource`, which was just made, by wrapping its close function. If memory is short, it stays untraced.
MEMARRAY_API void trace_opened(MemArrayResource& resource, std::string words) noexcept;

}  // namespace detail
}  // namespace memarray
