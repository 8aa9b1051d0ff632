#pragma once

#include <memarray/base/config.hpp>

#include <string>
#include <vector>

namespace memarray::detail {

/// Records where a lease was opened. `array` and `lease` are only identities. Throws `std::bad_alloc`.
MEMARRAY_API void trace_opened(void const* array, void const* lease, std::string where);
/// Does nothing if the lease was not traced.
MEMARRAY_API void trace_closed(void const* lease) noexcept;
/// Returns a line for each open, traced lease.
[[nodiscard]] MEMARRAY_API std::vector<std::string> traced_leases(void const* array);

}  // namespace memarray::detail
