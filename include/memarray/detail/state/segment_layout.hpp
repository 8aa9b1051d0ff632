#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/process.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

/// A slot of a segment, owned by one process. Only the owner changes the counts. After it has ended, another process
/// takes the slot over and clears them.
struct alignas(64) SegmentSlot {
  std::atomic<ProcessStamp> owner;     ///< 0: free
  std::atomic<std::uint64_t> readers;  ///< read holds
  std::atomic<std::uint64_t> exports;  ///< [writable: 32 bits][read-only: 32]
  std::atomic<std::int64_t> lock_id;   ///< lock id of its write hold
  std::atomic<std::uint32_t> waits;    ///< threads waiting to write
};

/// The header of shared memory that holds one array. The fields before `word` are written once, before the magic number
/// is. Readers check and copy them once, because others can overwrite them.
struct alignas(64) SegmentHeader {
  static constexpr std::uint64_t magic_number = 0x31595241'4d454d7f;  ///< "\x7fMEMARY1"
  static constexpr std::uint32_t current_version = 1;
  static constexpr int max_ndim = 16;
  static constexpr std::uint32_t slot_count = 250;

  std::atomic<std::uint64_t> magic;
  std::uint32_t version;
  std::uint32_t slots;
  std::uint64_t uid;         ///< random; names of segments are reused
  std::uint64_t space;       ///< `process_namespace()` of the creator
  std::uint64_t bytes;       ///< header and elements
  std::uint64_t data_at;     ///< offset of the first element
  std::uint64_t data_bytes;  ///< elements only
  char dtype[64];
  std::uint32_t itemsize;
  std::uint32_t dl;  ///< [code: 8 bits][bits: 8][lanes: 16]
  std::uint32_t ndim;
  std::uint32_t unused;
  std::int64_t shape[max_ndim];

  /// [number of claims: 32 bits][0 free, 1 claimed, 2 held: 8][slot + 1: 24]
  alignas(64) std::atomic<std::uint64_t> word;
  std::atomic<std::uint32_t> waiting;   ///< slot + 1 of a waiting writer, or 0
  std::atomic<std::uint32_t> used;      ///< index past the last slot ever taken
  std::atomic<std::uint32_t> sleepers;  ///< threads waiting on `epoch`, or killed in that wait
  std::atomic<std::uint32_t> epoch;

  SegmentSlot slot[slot_count];
};
static_assert(sizeof(SegmentSlot) == 64 && sizeof(SegmentHeader) == 16384);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// A segment's description of its array, checked and copied.
struct SegmentLayout {
  std::string dtype_name;
  std::uint32_t itemsize = 0;
  std::uint32_t dl = 0;
  std::vector<std::int64_t> shape;
  std::uint64_t uid = 0;
  std::size_t data_at = 0;
  std::size_t data_bytes = 0;

  [[nodiscard]] MEMARRAY_API bool is_of(DType const& dtype) const noexcept;
};

/// Returns the bytes of shared memory for such an array, header included. Throws `ValueError`, `OverflowError`.
[[nodiscard]] MEMARRAY_API std::size_t segment_bytes(DType const& dtype, std::span<std::int64_t const> shape);
/// Writes a header and elements `T()` to `memory`. `zeroed`: it is all zero already, as fresh mappings are. Throws
/// `ValueError` (too small, not aligned, or it holds an array that a living process uses), `std::system_error` with
/// ENOSPC if the file system cannot back the mapping with memory.
MEMARRAY_API SegmentLayout write_segment(std::span<std::byte> memory, DType const& dtype,
                                         std::span<std::int64_t const> shape, bool zeroed);
/// Reads the header of `memory` and checks every field. Throws `ValueError`, which says what is wrong; `Error` if it is
/// from a pid or time namespace whose processes this one cannot see.
[[nodiscard]] MEMARRAY_API SegmentLayout read_segment(std::span<std::byte const> memory);

}  // namespace memarray::detail
