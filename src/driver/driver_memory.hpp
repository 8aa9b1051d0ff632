#pragma once

#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

#include <cstddef>

namespace memarray::detail {

enum class MemoryKind : unsigned char { pool, device, managed, pinned };

/// Allocates in the current context, or from `pool` in the order of `stream` for `MemoryKind::pool`. The driver refuses
/// 0 bytes.
[[nodiscard]] cu::Result take_memory(DriverTable const& driver, MemoryKind kind, MemoryPoolHandle const& pool,
                                     StreamHandle const& stream, std::size_t bytes, cu::DevicePtr& pointer) noexcept;
/// Frees pool memory in the order of `stream`, other memory at once. The driver waits at most for the memory's device,
/// for pinned memory not at all.
void give_memory_back(DriverTable const& driver, MemoryKind kind, StreamHandle const& stream,
                      cu::DevicePtr pointer) noexcept;

}  // namespace memarray::detail
