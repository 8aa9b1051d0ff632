#pragma once

#include <cstddef>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Ordinary host memory, aligned to 64 bytes at least. From `mapped_from` bytes on each block is a mapping of its
/// own, aligned to and asked to be made of huge pages: it is zero until it is written, costs nothing where it is not
/// touched, and goes back to the system when freed.
class MEMARRAY_API PageableResource {
 public:
  static constexpr std::size_t mapped_from = std::size_t{1} << 21;

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;

  /// Makes a block of this resource zero again. Mapped ones give their pages back and are as new.
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept { return bytes >= mapped_from; }

  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::normal; }
  friend bool operator==(PageableResource, PageableResource) noexcept { return true; }
};

static_assert(ZeroingResource<PageableResource>);

}  // namespace memarray
