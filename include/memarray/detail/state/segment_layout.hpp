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

/// The slot of one array object. Only its process changes the counts; others clear them after its end.
struct alignas(64) SegmentSlot {
  std::atomic<ProcessStamp> owner;  ///< 0: free
  std::atomic<std::uint64_t> readers;
  std::atomic<std::uint64_t> exports;  ///< [writable: 32 bits][read-only: 32]
  std::atomic<std::int64_t> lock_id;   ///< of a write hold
  std::atomic<std::uint32_t> waits;    ///< threads waiting to write
};

/// The header of an array in shared memory. Fields before `word` are written once, `magic` last. Readers check a copy:
/// other processes can overwrite them.
struct alignas(64) SegmentHeader {
  static constexpr std::uint64_t magic_number = 0x31595241'4d454d7f;  ///< "\x7fMEMARY1"
  static constexpr std::uint32_t current_version = 1;
  static constexpr int max_ndim = 16;
  static constexpr std::uint32_t slot_count = 250;

  std::atomic<std::uint64_t> magic;
  std::uint32_t version;
  std::uint32_t slots;
  std::uint64_t uid;      ///< random, as names are reused
  std::uint64_t space;    ///< `process_namespace()` of the creator
  std::uint64_t bytes;    ///< header and elements
  std::uint64_t data_at;  ///< offset of the first element
  std::uint64_t data_bytes;
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

/// The checked description of a segment's array.
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

/// Returns the bytes of header and elements. Throws `ValueError`, `OverflowError`.
[[nodiscard]] MEMARRAY_API std::size_t segment_bytes(DType const& dtype, std::span<std::int64_t const> shape);
/// Writes a header and initial elements. `zeroed`: `memory` is all zero. Throws like `segment_bytes`; `ValueError` (too
/// small, not aligned, in use); `std::system_error` (ENOSPC: memory cannot back the mapping).
MEMARRAY_API SegmentLayout write_segment(std::span<std::byte> memory, DType const& dtype,
                                         std::span<std::int64_t const> shape, bool zeroed);
/// Checks all fields. Throws `ValueError`; `Error` if the processes of its pid or time namespace are invisible here.
[[nodiscard]] MEMARRAY_API SegmentLayout read_segment(std::span<std::byte const> memory);

}  // namespace memarray::detail
