#pragma once

#include <cstddef>
#include <memory>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// An adaptor that throws `OutOfMemoryError` above `limit` bytes in use. Copies share the limit.
class MEMARRAY_API LimitingAdaptor {
 public:
  /// Throws `ValueError` for an empty handle.
  LimitingAdaptor(MemoryResource upstream, std::size_t limit);

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept;

  [[nodiscard]] std::size_t limit() const noexcept;
  [[nodiscard]] std::size_t in_use() const noexcept;

  friend bool operator==(LimitingAdaptor const& left, LimitingAdaptor const& right) noexcept {
    return left._state == right._state;
  }

 private:
  struct State;
  std::shared_ptr<State> _state;
};

static_assert(ZeroingResource<LimitingAdaptor>);

}  // namespace memarray
