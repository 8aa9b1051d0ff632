#pragma once

#include <cstddef>

#include <memarray/base/config.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray {

/// Pageable host memory. Blocks of `mapped_from` bytes or more are mappings, of huge pages if possible: zero until
/// written, costless until touched, returned to the system when freed.
class MEMARRAY_API PageableResource {
 public:
  static constexpr std::size_t mapped_from = std::size_t{1} << 21;

  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment);
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment);
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept;

  /// Zeroes a block; mapped blocks return their pages to the system.
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes);
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept { return bytes >= mapped_from; }

  [[nodiscard]] MemoryType memory_type() const noexcept { return MemoryType::normal; }
  friend bool operator==(PageableResource, PageableResource) noexcept { return true; }
};

static_assert(ZeroingResource<PageableResource>);

}  // namespace memarray
