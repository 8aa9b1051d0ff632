#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// An adaptor that reuses freed blocks of host-accessible memory. Sizes are rounded up to 64 bytes, larger ones by at
/// most an eighth. If memory runs out, allocation trims the pool and retries.
///
/// A freed block may be reused at once, in any stream: free it only after its pending work.
///
/// Larger alignments than the default bypass the pool. Above the limit, roughly the oldest blocks are released.
///
/// AddressSanitizer reports access, in instrumented code, to cached blocks and beyond the requested bytes.
///
/// Copies share one pool. A forked child may lose blocks that another thread was caching.
class MEMARRAY_API PoolingAdaptor {
 public:
  /// Bytes of the smallest blocks.
  static constexpr std::size_t smallest = std::size_t{1} << 6;

  struct Statistics {
    std::size_t kept_bytes;
    std::size_t kept_blocks;
    std::uint64_t hits;
    std::uint64_t misses;
  };

  /// `limit` is in bytes, by default `options().pool_limit` at each use. Throws `ValueError` for device memory and
  /// empty handles.
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

  /// Releases all but the newest `keep` bytes. Returns the bytes released.
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
