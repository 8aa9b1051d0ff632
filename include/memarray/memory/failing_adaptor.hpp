#pragma once

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace memarray {

/// An adaptor that fails on demand. Copies share pending failures.
class MEMARRAY_API FailingAdaptor {
 public:
  /// Throws `ValueError` for an empty handle.
  explicit FailingAdaptor(MemoryResource upstream);

  /// Makes `times` allocations from the `nth` on throw `OutOfMemoryError`. Throws `ValueError` unless both are
  /// positive.
  void fail(std::int64_t nth, std::int64_t times = 1);
  [[nodiscard]] std::int64_t failures() const noexcept;

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept;

  friend bool operator==(FailingAdaptor const& left, FailingAdaptor const& right) noexcept {
    return left._state == right._state;
  }

 private:
  struct State;
  std::shared_ptr<State> _state;
};

static_assert(IsMemoryResource<FailingAdaptor>);

}  // namespace memarray
