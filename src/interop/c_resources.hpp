#pragma once

#include <memarray/interop/c_api.h>

namespace memarray::detail {

// Entries of the C API's table.
void hold_object(void* object, char const* what, MemArrayResource* resource) noexcept;
void* array_as_pointer(void* object, int writable, MemArrayResource* resource) noexcept;
void* view_as_pointer(void* object, int writable, MemArrayResource* resource) noexcept;

/// Does nothing for null, or without a runtime.
void drop_object(void* object) noexcept;

}  // namespace memarray::detail
