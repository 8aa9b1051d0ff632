#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// An adaptor that counts allocations and bytes. Copies share the counts.
class MEMARRAY_API StatisticsAdaptor {
 public:
  struct Statistics {
    std::uint64_t allocations;  ///< successful ones
    std::uint64_t live_blocks;
    std::uint64_t live_bytes;
    std::uint64_t peak_bytes;
  };

  /// Throws `ValueError` for an empty handle.
  explicit StatisticsAdaptor(MemoryResource upstream);

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept;

  [[nodiscard]] Statistics statistics() const noexcept;

  friend bool operator==(StatisticsAdaptor const& left, StatisticsAdaptor const& right) noexcept {
    return left._state == right._state;
  }

 private:
  struct State;
  std::shared_ptr<State> _state;
};

static_assert(ZeroingResource<StatisticsAdaptor>);

}  // namespace memarray
