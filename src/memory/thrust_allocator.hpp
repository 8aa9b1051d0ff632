#pragma once

// Installed headers must not include Thrust.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>

#include <memarray/base/shape.hpp>
#include <memarray/memory/resource.hpp>

namespace memarray::detail {

/// A Thrust allocator over a memory resource. Constructs no elements. Moves and swaps propagate it, as other resources
/// cannot free its memory. `Stream`: a `StreamHandle`, or a pointer to the last use's.
template <class T, class Pointer = T*, class Stream = StreamHandle>
class ThrustAllocator {
 public:
  using value_type = T;
  using pointer = Pointer;
  using const_pointer = typename std::pointer_traits<Pointer>::template rebind<T const>;
  using reference = decltype(*std::declval<Pointer>());
  using const_reference = decltype(*std::declval<const_pointer>());
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  template <class U>
  struct rebind {
    using other = ThrustAllocator<U, typename std::pointer_traits<Pointer>::template rebind<U>, Stream>;
  };

  enum class Contents : bool { uninitialized, zero };

  ThrustAllocator(MemoryResource resource, Stream stream, Contents contents = Contents::uninitialized) noexcept
      : _resource(std::move(resource)), _stream(std::move(stream)), _contents(contents) {}
  // Not defaulted: nvcc would make them device functions, too, and warn.
  ThrustAllocator(ThrustAllocator const& other) noexcept
      : _resource(other._resource), _stream(other._stream), _contents(other._contents) {}
  // NOLINTNEXTLINE(performance-move-constructor-init): an allocator keeps its value when it is moved from.
  ThrustAllocator(ThrustAllocator&& other) noexcept : ThrustAllocator(std::as_const(other)) {}
  template <class U, class P>
  explicit ThrustAllocator(ThrustAllocator<U, P, Stream> const& other) noexcept
      : _resource(other.resource()),
        _stream(other.stream_or_place()),
        _contents(other.is_zeroing() ? Contents::zero : Contents::uninitialized) {}
  ThrustAllocator& operator=(ThrustAllocator const& other) noexcept {
    if (this == &other) return *this;
    _resource = other._resource;
    _stream = other._stream;
    _contents = other._contents;
    return *this;
  }
  ~ThrustAllocator() {}

  /// Throws `ValueError` for host pointers to device memory.
  [[nodiscard]] pointer allocate(size_type count) {
    if constexpr (std::is_pointer_v<Pointer>)
      check_host_reaches(_resource.memory_type(), "the resource of a Thrust vector on the host");
    std::size_t const bytes = checked_bytes(static_cast<std::int64_t>(count), sizeof(T));
    void* const memory =
        is_zeroing() ? _resource.allocate_zeroed(stream(), bytes) : _resource.allocate(stream(), bytes);
    return pointer(static_cast<T*>(memory));
  }
  void deallocate(pointer memory, size_type count) noexcept {
    _resource.deallocate(stream(), static_cast<void*>(raw(memory)), count * sizeof(T));
  }

  template <class U>
  void construct(U*) noexcept {}

  [[nodiscard]] MemoryResource const& resource() const noexcept { return _resource; }
  [[nodiscard]] StreamHandle const& stream() const noexcept {
    if constexpr (std::is_pointer_v<Stream>)
      return *_stream;
    else
      return _stream;
  }
  [[nodiscard]] Stream const& stream_or_place() const noexcept { return _stream; }
  [[nodiscard]] bool is_zeroing() const noexcept { return _contents == Contents::zero; }

  friend bool operator==(ThrustAllocator const& left, ThrustAllocator const& right) noexcept {
    return left._resource == right._resource;
  }

 private:
  static T* raw(T* memory) noexcept { return memory; }
  template <class P>
  static T* raw(P const& memory) noexcept {
    return memory.get();
  }

  MemoryResource _resource;
  Stream _stream;
  Contents _contents;
};

using HostBytes = thrust::host_vector<std::byte, ThrustAllocator<std::byte>>;

/// A tag for memory that only the driver accesses; Thrust's algorithms do not compile for it.
struct device_tag : thrust::device_execution_policy<device_tag> {};
template <class T>
using DevicePointer = thrust::pointer<T, device_tag>;
using DeviceBytes =
    thrust::device_vector<std::byte, ThrustAllocator<std::byte, DevicePointer<std::byte>, StreamHandle const*>>;

template <class Vector>
[[nodiscard]] Vector make_bytes(typename Vector::allocator_type const& allocator, std::size_t count) {
  Vector result(allocator);
#if CCCL_MAJOR_VERSION > 3 || (CCCL_MAJOR_VERSION == 3 && CCCL_MINOR_VERSION >= 1)
  result.resize(count, thrust::no_init);
#else
  result.resize(count);
#endif
  return result;
}

}  // namespace memarray::detail
