#pragma once

#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>

namespace memarray::detail {

/// The kinds of memory that the driver allocates.
enum class MemoryKind : unsigned char { pool, device, managed, pinned };

/// Allocates memory in the current context; for `MemoryKind::pool`, from `pool` in the order of `stream`. The driver
/// refuses 0 bytes.
[[nodiscard]] cu::Result take_memory(DriverTable const& driver, MemoryKind kind, MemoryPoolHandle const& pool,
                                     StreamHandle const& stream, std::size_t bytes, cu::DevicePtr& pointer) noexcept;
/// Frees memory of a pool in the order of `stream`, and other memory at once. The driver itself waits at most for the
/// memory's own device, and for pinned memory not at all.
void give_memory_back(DriverTable const& driver, MemoryKind kind, StreamHandle const& stream,
                      cu::DevicePtr pointer) noexcept;

}  // namespace memarray::detail
