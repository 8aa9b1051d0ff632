#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// An event in a context. `timing`: it can be asked for times, and costs a little more.
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle(ContextHandle const& context, bool timing = false) noexcept;
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle_ref(cu::Event event, ContextHandle context) noexcept;
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle_with_owner(cu::Event event, KeepAlive owner,
                                                                      ContextHandle context) noexcept;

[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(EventHandle const& event) noexcept;
/// Whether it was made here to be asked for times. Of others' events that is not known, and null has none.
[[nodiscard]] MEMARRAY_API bool has_timing(EventHandle const& event) noexcept;

}  // namespace memarray
