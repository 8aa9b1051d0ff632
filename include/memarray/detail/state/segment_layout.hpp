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

/// One process's place in a segment. Only its owner changes the counts; when it has died, whoever holds the lock word
/// clears them.
struct alignas(64) SegmentSlot {
  std::atomic<ProcessStamp> owner;     ///< 0: free
  std::atomic<std::uint64_t> readers;  ///< read holds
  std::atomic<std::uint64_t> exports;  ///< [writable: 32 bits][read-only: 32]
  std::atomic<std::int64_t> lock_id;   ///< of its write hold
  std::atomic<std::uint32_t> waits;    ///< threads that wait to write
};

/// What stands at the start of shared memory that holds one array. The first part is written once, before the magic
/// number; nothing in it is believed later, as others can write there.
struct alignas(64) SegmentHeader {
  static constexpr std::uint64_t magic_number = 0x31595241'4d454d7f;  ///< "\x7fMEMARY1"
  static constexpr std::uint32_t current_version = 1;
  static constexpr int max_ndim = 16;
  static constexpr std::uint32_t slot_count = 250;

  std::atomic<std::uint64_t> magic;
  std::uint32_t version;
  std::uint32_t slots;
  std::uint64_t uid;         ///< random: one segment's name may be another's later
  std::uint64_t space;       ///< `process_namespace` of its maker
  std::uint64_t bytes;       ///< of header and elements
  std::uint64_t data_at;     ///< offset of the first element
  std::uint64_t data_bytes;  ///< of the elements
  char dtype[64];
  std::uint32_t itemsize;
  std::uint32_t dl;  ///< [code: 8 bits][bits: 8][lanes: 16]
  std::uint32_t ndim;
  std::uint32_t unused;
  std::int64_t shape[max_ndim];

  /// [how often it was claimed: 32 bits][0 free, 1 claimed, 2 held: 8][slot + 1: 24]
  alignas(64) std::atomic<std::uint64_t> word;
  std::atomic<std::uint32_t> waiting;   ///< a slot + 1 that waits to write, or 0
  std::atomic<std::uint32_t> used;      ///< no slot from here on was ever taken
  std::atomic<std::uint32_t> sleepers;  ///< processes asleep on `epoch`, or killed in their sleep
  std::atomic<std::uint32_t> epoch;

  SegmentSlot slot[slot_count];
};
static_assert(sizeof(SegmentSlot) == 64 && sizeof(SegmentHeader) == 16384);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

/// What a segment says of its array, looked at and copied.
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

/// Bytes of shared memory for such an array. Throws `ValueError`, `OverflowError`.
[[nodiscard]] MEMARRAY_API std::size_t segment_bytes(DType const& dtype, std::span<std::int64_t const> shape);
/// Makes a segment of `memory`: a header, and elements `T()`. `zeroed`: it is all zero already, as fresh mappings are.
/// Throws `ValueError` (too small, not aligned, or it holds an array that a living process uses), `std::system_error`
/// with ENOSPC if the file system behind the mapping has not enough memory.
MEMARRAY_API SegmentLayout write_segment(std::span<std::byte> memory, DType const& dtype,
                                         std::span<std::int64_t const> shape, bool zeroed);
/// Reads the header of `memory`, believing nothing. Throws `ValueError`, which says what is wrong with it; `Error` for
/// one whose processes cannot be told alive or dead from here.
[[nodiscard]] MEMARRAY_API SegmentLayout read_segment(std::span<std::byte const> memory);

}  // namespace memarray::detail
