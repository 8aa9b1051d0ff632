#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <utility>

#include <memarray/base/config.hpp>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/memory/memory_type.hpp>

namespace memarray {

/// The minimum alignment in bytes: a cache line, as DLPack consumers expect.
inline constexpr std::size_t default_alignment = 64;

/// A handle to a memory source, like those of `cuda::mr`: copies are equal and share one resource. Any thread may use
/// it. `allocate` throws `OutOfMemoryError`; `deallocate` needs the allocation's bytes and alignment, and frees in
/// stream order.
template <class R>
concept IsMemoryResource = requires(R& r, R const& c, StreamHandle const& stream, void* pointer, std::size_t n) {
  { r.allocate(stream, n, n) } -> std::same_as<void*>;
  { r.deallocate(stream, pointer, n, n) } noexcept;
  { c.memory_type() } noexcept -> std::same_as<MemoryType>;
};

/// A resource that can zero its memory; `allocate_zeroed` costs nothing until use if `zeroes_lazily(bytes)`.
template <class R>
concept ZeroingResource =
    IsMemoryResource<R> && requires(R& r, R const& c, StreamHandle const& stream, void* pointer, std::size_t n) {
      { r.allocate_zeroed(stream, n, n) } -> std::same_as<void*>;
      r.zero(stream, pointer, n);
      { c.zeroes_lazily(n) } noexcept -> std::same_as<bool>;
    };

/// A shared handle to any resource. Equal handles can free each other's memory. Empty ones support only `bool`, `==`
/// and copies.
class MEMARRAY_API MemoryResource {
 public:
  MemoryResource() noexcept = default;

  template <class R>
    requires(!std::same_as<R, MemoryResource>) && IsMemoryResource<R>
  MemoryResource(R resource) : _object(std::make_shared<R>(std::move(resource))), _functions(&functions<R>) {}

  /// Returns an uncounted handle. `resource` must never be destroyed.
  template <class R>
    requires(!std::same_as<R, MemoryResource>) && IsMemoryResource<R>
  [[nodiscard]] static MemoryResource immortal(R& resource) noexcept {
    MemoryResource result;
    result._object = std::shared_ptr<void>(std::shared_ptr<void>(), &resource);
    result._functions = &functions<R>;
    return result;
  }

  /// Allocates for use in the order of `stream`; the caller must `deallocate`.
  [[nodiscard]] void* allocate(StreamHandle const& stream, std::size_t bytes,
                               std::size_t alignment = default_alignment) {
    return _functions->allocate(_object.get(), stream, bytes, alignment);
  }
  /// Allocates memory that reads as zero.
  [[nodiscard]] void* allocate_zeroed(StreamHandle const& stream, std::size_t bytes,
                                      std::size_t alignment = default_alignment) {
    return _functions->allocate_zeroed(_object.get(), stream, bytes, alignment);
  }
  void deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    _functions->deallocate(_object.get(), stream, pointer, bytes, alignment);
  }
  /// Zeroes device memory in the order of `stream`, other memory at once. Throws `CudaError`, also for a resource of
  /// device memory without `zero`.
  void zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
    _functions->zero(_object.get(), stream, pointer, bytes);
  }
  [[nodiscard]] bool zeroes_lazily(std::size_t bytes) const noexcept {
    return _functions->zeroes_lazily(_object.get(), bytes);
  }
  [[nodiscard]] MemoryType memory_type() const noexcept { return _functions->memory_type(_object.get()); }

  explicit operator bool() const noexcept { return _functions != nullptr; }

  friend bool operator==(MemoryResource const& left, MemoryResource const& right) noexcept {
    return left._object == right._object ||
           (left._functions == right._functions && left._functions->equal(left._object.get(), right._object.get()));
  }

  // Deleted: `nullptr` would convert to a null `StreamHandle`.
  void* allocate(std::nullptr_t, std::size_t, std::size_t = 0) = delete;
  void* allocate_zeroed(std::nullptr_t, std::size_t, std::size_t = 0) = delete;
  void zero(std::nullptr_t, void*, std::size_t) = delete;
  void deallocate(std::nullptr_t, void*, std::size_t, std::size_t = 0) = delete;

 private:
  struct Functions {
    void* (*allocate)(void*, StreamHandle const&, std::size_t, std::size_t);
    void* (*allocate_zeroed)(void*, StreamHandle const&, std::size_t, std::size_t);
    void (*zero)(void*, StreamHandle const&, void*, std::size_t);
    bool (*zeroes_lazily)(void const*, std::size_t) noexcept;
    void (*deallocate)(void*, StreamHandle const&, void*, std::size_t, std::size_t) noexcept;
    MemoryType (*memory_type)(void const*) noexcept;
    bool (*equal)(void const*, void const*) noexcept;
  };

  template <class R>
  struct Calls;
  template <class R>
  static constexpr Functions functions = {&Calls<R>::allocate,      &Calls<R>::allocate_zeroed, &Calls<R>::zero,
                                          &Calls<R>::zeroes_lazily, &Calls<R>::deallocate,      &Calls<R>::memory_type,
                                          &Calls<R>::equal};

  std::shared_ptr<void> _object;
  Functions const* _functions = nullptr;
};

namespace detail {

[[noreturn]] MEMARRAY_API void throw_host_cannot_reach(char const* what);
/// Writes zeros, in parallel if faster. Throws `CudaError` for device memory.
MEMARRAY_API void write_zeros(MemoryType type, void* pointer, std::size_t bytes);
/// Throws `ValueError` for device memory, naming `what`.
inline void check_host_reaches(MemoryType type, char const* what) {
  if (!is_host_accessible(type)) [[unlikely]]
    throw_host_cannot_reach(what);
}

}  // namespace detail

template <class R>
struct MemoryResource::Calls {
  // Not in the concept: its check for copies would try R -> MemoryResource, which checks the concept.
  static_assert(std::copy_constructible<R> && std::equality_comparable<R>);

  static void* allocate(void* object, StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
    return static_cast<R*>(object)->allocate(stream, bytes, alignment);
  }

  static void* allocate_zeroed(void* object, StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
    R& resource = *static_cast<R*>(object);
    if constexpr (ZeroingResource<R>) {
      return resource.allocate_zeroed(stream, bytes, alignment);
    } else {
      void* const pointer = resource.allocate(stream, bytes, alignment);
      try {
        zero(object, stream, pointer, bytes);
      } catch (...) {
        resource.deallocate(stream, pointer, bytes, alignment);
        throw;
      }
      return pointer;
    }
  }

  static void zero(void* object, StreamHandle const& stream, void* pointer, std::size_t bytes) {
    R& resource = *static_cast<R*>(object);
    if constexpr (ZeroingResource<R>) {
      resource.zero(stream, pointer, bytes);
    } else {
      static_cast<void>(stream);
      detail::write_zeros(resource.memory_type(), pointer, bytes);
    }
  }

  static bool zeroes_lazily(void const* object, std::size_t bytes) noexcept {
    if constexpr (ZeroingResource<R>) {
      return static_cast<R const*>(object)->zeroes_lazily(bytes);
    } else {
      static_cast<void>(object);
      static_cast<void>(bytes);
      return false;
    }
  }

  static void deallocate(void* object, StreamHandle const& stream, void* pointer, std::size_t bytes,
                         std::size_t alignment) noexcept {
    static_cast<R*>(object)->deallocate(stream, pointer, bytes, alignment);
  }

  static MemoryType memory_type(void const* object) noexcept { return static_cast<R const*>(object)->memory_type(); }

  static bool equal(void const* left, void const* right) noexcept {
    return *static_cast<R const*>(left) == *static_cast<R const*>(right);
  }
};

static_assert(ZeroingResource<MemoryResource>);

namespace detail {
/// Throws `ValueError` for an empty handle.
[[nodiscard]] MEMARRAY_API MemoryResource require_nonempty(MemoryResource resource);
}  // namespace detail

}  // namespace memarray
