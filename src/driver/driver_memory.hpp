#pragma once

#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>

namespace memarray::detail {

enum class MemoryKind : unsigned char { pool, device, managed, pinned };

/// Allocates in the current context; `pool` and `stream` are for `MemoryKind::pool`. The driver refuses 0 bytes.
[[nodiscard]] cu::Result allocate_memory(DriverTable const& driver, MemoryKind kind, MemoryPoolHandle const& pool,
                                         StreamHandle const& stream, std::size_t bytes,
                                         cu::DevicePtr& pointer) noexcept;
/// Frees pool memory in the order of `stream`, other memory at once. The driver may wait for the device, except for
/// pinned memory.
void free_memory(DriverTable const& driver, MemoryKind kind, StreamHandle const& stream,
                 cu::DevicePtr pointer) noexcept;

}  // namespace memarray::detail
