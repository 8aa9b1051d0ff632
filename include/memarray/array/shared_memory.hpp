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

/// A mapping that processes of one host share: from `shm_open`, a memfd or a file.
struct SharedMemory {
  std::span<std::byte> bytes;              ///< writable, aligned to 64 bytes
  std::shared_ptr<void const> keep_alive;  ///< keeps the mapping
  std::string name{};                      ///< for messages and pickling
  bool is_zero = false;                    ///< every byte is 0
};

/// Counts the array and the header that holds its lock.
template <class T, std::size_t ndim>
[[nodiscard]] std::size_t shared_bytes(std::array<std::int64_t, ndim> const& shape) {
  return detail::segment_bytes(dtype_of<T>(), shape);
}

/// Makes an array in `memory`, every element `T()`. Its leases exclude each other, and its exports count, across
/// processes. Its policy for escaped views is `error` or `alias`. It cannot be moved, resized or exchanged; copies are
/// private memory. Throws `ValueError` (memory too small, misaligned or in use), `std::system_error` (ENOSPC: the file
/// system cannot back the mapping, and a write would be a SIGBUS).
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> create_shared(SharedMemory memory, typename MemArray<T, ndim>::Shape const& shape) {
  return MemArray<T, ndim>::share(
      detail::create_shared(memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name),
                            memory.is_zero, dtype_of<T>(), detail::Extents(shape)));
}

/// Attaches to the array in `memory`. Throws `ValueError` (no valid array), `TypeError` (another dtype or rank),
/// `Error` (its processes cannot be seen from here, or it has 250 users).
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> attach_shared(SharedMemory memory) {
  return MemArray<T, ndim>::share(detail::attach_shared(
      memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name), dtype_of<T>(), ndim));
}

/// Releases and returns the holds of processes that have ended. After a write hold the contents may be half written.
/// Does nothing outside shared memory.
template <class T, int ndim>
std::vector<Death> recover(MemArray<T, ndim>& array) {
  return detail::recover(array.state());
}

}  // namespace memarray
