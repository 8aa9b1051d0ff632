#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// Creates an event. `timing` enables `elapsed` at a small cost.
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle(ContextHandle const& context, bool timing = false) noexcept;
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle_ref(cu::Event event, ContextHandle context) noexcept;
[[nodiscard]] MEMARRAY_API EventHandle create_event_handle_with_owner(cu::Event event, KeepAlive owner,
                                                                      ContextHandle context) noexcept;

[[nodiscard]] MEMARRAY_API ContextHandle const& context_of(EventHandle const& event) noexcept;
/// True if `create_event_handle` enabled timing; false for foreign events and null handles.
[[nodiscard]] MEMARRAY_API bool has_timing(EventHandle const& event) noexcept;

}  // namespace memarray
