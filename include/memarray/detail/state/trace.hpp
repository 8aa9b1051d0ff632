#pragma once

#include <memarray/base/config.hpp>

#include <string>
#include <vector>

namespace memarray::detail {

/// Where open leases were opened, kept while `options().trace_leases` is on. `array` and `lease` are identities only.
MEMARRAY_API void trace_opened(void const* array, void const* lease, std::string where);
/// Harmless for a lease that was not traced.
MEMARRAY_API void trace_closed(void const* lease) noexcept;
/// One line a lease of `array` that is open and traced.
[[nodiscard]] MEMARRAY_API std::vector<std::string> traced_leases(void const* array);

}  // namespace memarray::detail
