#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/process.hpp>
#include <memarray/detail/state/segment_layout.hpp>
#include <memarray/detail/state/shared_array.hpp>
#include <memarray/detail/state/state.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace memarray {

/// Memory of this process that other processes of the host have mapped too: of `shm_open`, of a memfd, of a file.
struct SharedMemory {
  std::span<std::byte> bytes;              ///< writable, at a multiple of 64 bytes
  std::shared_ptr<void const> keep_alive;  ///< keeps the mapping as long as the array and what was exported of it live
  std::string name{};                      ///< what others find it by; for messages, and for pickling in Python
  bool is_zero = false;                    ///< fresh: every byte is 0, so that none has to be written
};

/// Bytes of shared memory that an array of `shape` takes, with the header that holds its lock.
template <class T, std::size_t ndim>
[[nodiscard]] std::size_t shared_bytes(std::array<std::int64_t, ndim> const& shape) {
  return detail::segment_bytes(dtype_of<T>(), shape);
}

/// A new array in `memory`, every element `T()`, for other processes to attach to. Leases exclude each other across all
/// of them, and exports of all are counted. Its policy for escaped views is `error`, or `alias`; it cannot be moved,
/// resized or exchanged, and a copy of it is this process's own. Throws `ValueError` (memory that is too small, or
/// holds an array in use), `std::system_error` with ENOSPC for a mapping that its file system cannot back with memory:
/// without that check the first write to a missing page would be a SIGBUS.
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> create_shared(SharedMemory memory, typename MemArray<T, ndim>::Shape const& shape) {
  return MemArray<T, ndim>::share(detail::create_shared(memory.bytes, detail::keeper_of(std::move(memory.keep_alive)),
                                                        std::move(memory.name), memory.is_zero, dtype_of<T>(),
                                                        detail::Extents(shape)));
}

/// The array that another process, or this one, made in `memory`. Throws `ValueError` for memory that holds none,
/// saying what is wrong with it; `TypeError` for one of another type or rank; `Error` for one whose processes cannot be
/// seen from here, or that has 250 users already.
template <class T, int ndim>
[[nodiscard]] MemArray<T, ndim> attach_shared(SharedMemory memory) {
  return MemArray<T, ndim>::share(detail::attach_shared(memory.bytes, detail::keeper_of(std::move(memory.keep_alive)),
                                                        std::move(memory.name), dtype_of<T>(), ndim));
}

/// Gives back what processes that have died held of the array, and says what that was. After one that held it for
/// writing the contents may be half written: write them again before they are used. Whoever lives keeps what he holds.
/// Nothing for arrays that are in no shared memory.
template <class T, int ndim>
std::vector<Death> recover(MemArray<T, ndim>& array) {
  return detail::recover(array.state());
}

}  // namespace memarray
