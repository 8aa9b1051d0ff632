#pragma once

#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>

namespace memarray::detail {

/// Where the driver takes memory from.
enum class MemoryKind : unsigned char { pool, device, managed, pinned };

/// Memory of the current context; of `pool`, in the order of `stream`, for the first kind. The driver refuses 0 bytes.
[[nodiscard]] cu::Result take_memory(DriverTable const& driver, MemoryKind kind, MemoryPoolHandle const& pool,
                                     StreamHandle const& stream, std::size_t bytes, cu::DevicePtr& pointer) noexcept;
/// In the order of `stream`, for memory of a pool. Else here and now: the driver itself waits for the memory's own
/// device at most, and for pinned memory not at all.
void give_memory_back(DriverTable const& driver, MemoryKind kind, StreamHandle const& stream,
                      cu::DevicePtr pointer) noexcept;

}  // namespace memarray::detail
