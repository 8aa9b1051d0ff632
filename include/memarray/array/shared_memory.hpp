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

/// Memory that several processes of the host have mapped: of `shm_open`, of a memfd, of a file.
struct SharedMemory {
  std::span<std::byte> bytes;              ///< writable, at a multiple of 64 bytes
  std::shared_ptr<void const> keep_alive;  ///< keeps the mapping while the array or its exports live
  std::string name{};                      ///< how others find it; for messages, and for pickling in Python
  bool is_zero = false;                    ///< fresh: every byte is 0, so none has to be written
};

/// Returns the bytes of shared memory that an array of `shape` takes, with the header that holds its lock.
template <class T, std::size_t ndim>
[[nodiscard]] std::size_t shared_bytes(std::array<std::int64_t, ndim> const& shape) {
  return detail::segment_bytes(dtype_of<T>(), shape);
}

/// Makes an array in `memory`, every element `T()`, for other processes to attach to. Leases exclude each other across
/// all processes, and all exports count. The policy for escaped views is `error` or `alias`. The array cannot be moved,
/// resized or exchanged; a copy of it is private memory. Throws `ValueError` (memory too small, or in use by an array),
/// `std::system_error` with ENOSPC if the file system cannot back the mapping with memory. Without that check the first
/// write to a missing page would be a SIGBUS.
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> create_shared(SharedMemory memory, typename MemArray<T, ndim>::Shape const& shape) {
  return MemArray<T, ndim>::share(
      detail::create_shared(memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name),
                            memory.is_zero, dtype_of<T>(), detail::Extents(shape)));
}

/// Attaches to the array that this or another process made in `memory`. Throws `ValueError` (no valid array, with the
/// reason), `TypeError` (another dtype or rank), `Error` (its processes cannot be seen from here, or it has 250 users).
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> attach_shared(SharedMemory memory) {
  return MemArray<T, ndim>::share(detail::attach_shared(
      memory.bytes, detail::keep_alive_of(std::move(memory.keep_alive)), std::move(memory.name), dtype_of<T>(), ndim));
}

/// Releases what processes that have ended held of the array, and returns a list of it. If one held it for writing, the
/// contents may be half written: write them before they are used. Living processes keep their holds. Does nothing for
/// an array outside shared memory.
template <class T, int ndim>
std::vector<Death> recover(MemArray<T, ndim>& array) {
  return detail::recover(array.state());
}

}  // namespace memarray
