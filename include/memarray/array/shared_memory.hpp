#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/state/segment_layout.hpp>
#include <memarray/detail/state/shared_array.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace memarray {

/// A mapping that processes of one host share: of `shm_open`, a memfd or a file.
struct SharedMemory {
  std::span<std::byte> bytes;              ///< writable, aligned to 64 bytes
  std::shared_ptr<void const> keep_alive;  ///< of the mapping
  std::string name{};                      ///< for messages and pickling
  bool is_zero = false;                    ///< every byte is 0
};

/// Returns the bytes of an array and its header. Throws `ValueError`, `OverflowError`.
template <class T, std::size_t ndim>
[[nodiscard]] std::size_t shared_bytes(std::array<std::int64_t, ndim> const& shape) {
  return detail::segment_bytes(dtype_of<T>(), shape);
}

/// Makes an array in `memory`, every element `T()`. Leases and exports count across processes; copies are private. The
/// array cannot be moved, resized or exchanged; its policy for escaped views is `error` or `alias`. Throws `ValueError`
/// (memory too small, misaligned or in use), `std::system_error` (ENOSPC: the file system cannot back the mapping).
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> create_shared(SharedMemory memory, typename MemArray<T, ndim>::Shape const& shape) {
  return MemArray<T, ndim>::share(
      detail::create_shared(memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name),
                            memory.is_zero, dtype_of<T>(), detail::Extents(shape)));
}

/// Attaches to the array in `memory`. Throws `ValueError` (no valid array), `TypeError` (another dtype or rank),
/// `Error` (another pid or time namespace; 250 users).
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> attach_shared(SharedMemory memory) {
  return MemArray<T, ndim>::share(detail::attach_shared(
      memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name), dtype_of<T>(), ndim));
}

/// Releases and returns the holds of exited processes, for private arrays none. Contents under a write hold may be half
/// written.
template <class T, int ndim>
std::vector<Death> recover(MemArray<T, ndim>& array) {
  return detail::recover(array.state());
}

}  // namespace memarray
