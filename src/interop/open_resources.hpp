#pragma once

#include <memarray/interop/c_api.h>
#include <memarray/base/config.hpp>

#include <string>
#include <vector>

namespace memarray {

/// Whether resources that are made from now on are remembered until they are closed, so that the process can tell at
/// its end, on stderr, which never were. Off at first.
MEMARRAY_API void trace_resources(bool on) noexcept;
[[nodiscard]] MEMARRAY_API bool traces_resources() noexcept;
/// Those that are remembered, in words and in the order in which they were made.
[[nodiscard]] MEMARRAY_API std::vector<std::string> open_resources();

namespace detail {

/// Remembers `resource`, which was made just now, by wrapping its close. Where there is no memory for that, it is good
/// without.
MEMARRAY_API void trace_opened(MemArrayResource& resource, std::string words) noexcept;

}  // namespace detail
}  // namespace memarray
