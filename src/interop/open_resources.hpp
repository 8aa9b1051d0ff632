#pragma once

#include <memarray/interop/c_api.h>
#include <memarray/base/config.hpp>

#include <string>
#include <vector>

namespace memarray {

/// Turns tracing of new resources on or off (the default). Unclosed ones are reported on stderr at exit.
MEMARRAY_API void trace_resources(bool on) noexcept;
[[nodiscard]] MEMARRAY_API bool traces_resources() noexcept;
/// Describes the open traced resources, oldest first.
[[nodiscard]] MEMARRAY_API std::vector<std::string> open_resources();

namespace detail {

/// Traces `resource` by wrapping its close function. Does nothing if memory is short.
MEMARRAY_API void trace_opened(MemArrayResource& resource, std::string words) noexcept;

}  // namespace detail
}  // namespace memarray
