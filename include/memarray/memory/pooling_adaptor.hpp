#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// An adaptor that caches freed blocks of host-accessible memory and reuses them. Their pages are already mapped, so
/// reuse causes no page fault. Sizes are rounded up by at most an eighth, so that few distinct sizes exist.
///
/// Blocks with more than the default alignment bypass the pool. Above the limit, the oldest cached blocks are
/// released; ages of different threads are compared to within a few dozen blocks. Lazily zeroed blocks are cached
/// separately: they are mostly untouched and cheap to zero again. Touched blocks are reused where they will be written.
///
/// AddressSanitizer, if the program uses it, reports access to freed memory and beyond the requested bytes. Only the
/// accessing code needs to be instrumented.
///
/// Copies share one pool. Its shards let threads allocate without waiting for each other; all threads can reuse a
/// freed block. A forked child may lose blocks that another thread was caching during the fork.
class MEMARRAY_API PoolingAdaptor {
 public:
  /// Bytes of the smallest blocks. Smaller requests are rounded up to it.
  static constexpr std::size_t smallest = std::size_t{1} << 6;

  struct Statistics {
    std::size_t kept_bytes;
    std::size_t kept_blocks;
    std::uint64_t hits;
    std::uint64_t misses;
  };

  /// Caches at most `limit` bytes, by default `options().pool_limit`. Throws `ValueError` for device memory, which the
  /// driver pools in stream order.
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

  /// Releases the oldest cached blocks until at most `keep` bytes are left. Returns the bytes released.
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
