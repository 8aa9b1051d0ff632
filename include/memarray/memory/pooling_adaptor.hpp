#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Keeps freed blocks of memory that the host can reach and gives them out again: their pages are there already, so
/// that reusing one costs no page fault. Sizes are rounded up, by an eighth at most, to few enough that blocks are
/// reused.
///
/// Blocks with more than the default alignment go straight through. When more than the limit is kept, the oldest go
/// back (those of different threads are compared to within some dozens). Memory that was asked for zeroed, where that
/// comes lazily, is kept apart: it is mostly untouched and soon zero again, while touched blocks are left to those who
/// will write them.
///
/// Where the program has the address sanitizer, that is told whose memory is whose: it reports who touches what he has
/// given back or never asked for, also where only his own code was compiled for it.
///
/// Copies are one pool, in parts that threads use without waiting for each other; what one frees, all are given. In a
/// forked child, what another thread was just putting away may be lost.
class MEMARRAY_API PoolingAdaptor {
 public:
  /// Bytes of the smallest blocks; who asks for fewer is given so many.
  static constexpr std::size_t smallest = std::size_t{1} << 6;

  struct Statistics {
    std::size_t kept_bytes;
    std::size_t kept_blocks;
    std::uint64_t hits;
    std::uint64_t misses;
  };

  /// Without a limit of its own, `options().pool_limit` bounds what it keeps. Device memory is a `ValueError`: that
  /// is pooled by the driver, in the order of streams.
  explicit PoolingAdaptor(MemoryResource upstream, std::optional<std::size_t> limit = std::nullopt);

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept;

  /// Gives the oldest kept blocks back until at most `keep` bytes are left. Returns the bytes given back.
  std::size_t trim(std::size_t keep = 0) noexcept;
  [[nodiscard]] Statistics statistics() const noexcept;

  friend bool operator==(PoolingAdaptor const& left, PoolingAdaptor const& right) noexcept {
    return left._state == right._state;
  }

 private:
  struct State;
  std::shared_ptr<State> _state;
};

static_assert(ZeroingResource<PoolingAdaptor>);

}  // namespace memarray
