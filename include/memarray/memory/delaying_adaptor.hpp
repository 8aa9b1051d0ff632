#pragma once

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

#include <chrono>
#include <cstddef>
#include <utility>

namespace memarray {

/// An adaptor that delays each call without the interpreter lock, for tests.
class MEMARRAY_API DelayingAdaptor {
 public:
  /// Throws `ValueError` for an empty handle.
  DelayingAdaptor(MemoryResource upstream, std::chrono::nanoseconds each)
      : _upstream(detail::require_nonempty(std::move(upstream))), _each(each) {}

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;
  [[nodiscard]] MemoryType memory_type() const noexcept { return _upstream.memory_type(); }
  [[nodiscard]] std::chrono::nanoseconds delay() const noexcept { return _each; }

  friend bool operator==(DelayingAdaptor const& left, DelayingAdaptor const& right) noexcept {
    return left._upstream == right._upstream && left._each == right._each;
  }

 private:
  MemoryResource _upstream;
  std::chrono::nanoseconds _each;
};

static_assert(IsMemoryResource<DelayingAdaptor>);

}  // namespace memarray
