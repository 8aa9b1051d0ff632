#pragma once

/// @file
/// Opt-in, as it needs the CUDA runtime's headers: memory resources for CCCL's `cuda::mr`.

#include <cuda/version>

#if CCCL_VERSION < 3001000
#error \
    "<memarray/cuda_mr.hpp> needs CCCL 3.1, of CUDA 13.1: name a newer one to the compiler, as python -m memarray --includedir has it"
#elif !__has_include(<cuda_runtime_api.h>)
#error "<memarray/cuda_mr.hpp> needs the headers of a CUDA toolkit: name its include folder to the compiler"
#endif

#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/resource.hpp>

#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <concepts>
#include <cstddef>
#include <string>
#include <utility>

namespace memarray {

/// A memory resource as a `cuda::mr::resource_with<Properties...>`: `host_accessible`, `device_accessible` or both.
/// Copies share it and compare equal.
template <class... Properties>
class CudaResource {
  template <class Property>
  static constexpr bool has = (std::same_as<Property, Properties> || ...);
  static_assert(sizeof...(Properties) > 0 && ((std::same_as<Properties, cuda::mr::host_accessible> ||
                                               std::same_as<Properties, cuda::mr::device_accessible>) &&
                                              ...),
                "a CudaResource is host_accessible, device_accessible or both");

 public:
#if CCCL_VERSION >= 3002000
  using default_queries = cuda::mr::properties_list<Properties...>;
#endif

  /// `context`: of the memory's device; none for plain host memory. Throws `ValueError` (null `resource`; memory
  /// without the properties; device memory without a context), `CudaError` (no stream).
  explicit CudaResource(MemoryResource resource, ContextHandle const& context = {}) : _resource(std::move(resource)) {
    if (!_resource) throw ValueError("a CudaResource needs a memory resource that is not null");
    MemoryType const type = _resource.memory_type();
    if (has<cuda::mr::host_accessible> && !is_host_accessible(type)) refuse(type, "the host");
    if (has<cuda::mr::device_accessible> && type == MemoryType::normal) refuse(type, "a device");
    if (type == MemoryType::device && !context)
      throw ValueError("a CudaResource of device memory needs the context of the device");
    if (context && !(_own = create_stream_handle(context))) throw_last_error("making a stream");
    _context = context;
  }
  explicit CudaResource(DriverResource const& resource) : CudaResource(MemoryResource(resource), resource.context()) {}

  /// Allocates in the order of `stream`. Throws `OutOfMemoryError`, `CudaError`.
  [[nodiscard]] void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = default_alignment) {
    StreamHandle const handle = create_stream_handle_ref(stream.get());
    if (!handle) throw_last_error("allocating memory in the order of a stream");
    return _resource.allocate(handle, bytes, alignment);
  }
  /// Frees pool memory in the order of `stream`, other driver memory after synchronizing it, plain host memory at once.
  void deallocate(cuda::stream_ref stream, void* pointer, std::size_t bytes,
                  std::size_t alignment = default_alignment) noexcept {
    StreamHandle handle = create_stream_handle_ref(stream.get());
    if (!handle) {
      // No stream order without a handle: free after all work.
      static_cast<void>(synchronize_all());
      clear_last_error();
      handle = _own;
    }
    _resource.deallocate(handle, pointer, bytes, alignment);
  }

  /// Allocates for any stream, after a blocking wait. Throws like `allocate`.
  [[nodiscard]] void* allocate_sync(std::size_t bytes, std::size_t alignment = default_alignment) {
    void* const pointer = _resource.allocate(_own, bytes, alignment);
    if (_context && !synchronize(_own, _context)) {
      _resource.deallocate(_own, pointer, bytes, alignment);
      throw_last_error("waiting for memory");
    }
    return pointer;
  }
  /// Frees memory that no pending work uses.
  void deallocate_sync(void* pointer, std::size_t bytes, std::size_t alignment = default_alignment) noexcept {
    _resource.deallocate(_own, pointer, bytes, alignment);
  }

  [[nodiscard]] MemoryResource const& resource() const noexcept { return _resource; }

  friend bool operator==(CudaResource const& left, CudaResource const& right) noexcept {
    return left._resource == right._resource;
  }
  template <class Property>
    requires has<Property>
  friend constexpr void get_property(CudaResource const&, Property) noexcept {}

 private:
  [[noreturn]] static void refuse(MemoryType type, char const* who) {
    throw ValueError(std::string(to_string(type)) + " memory is not accessible to " + who);
  }

  MemoryResource _resource;
  ContextHandle _context;
  StreamHandle _own = default_stream();  // for calls without a stream
};

static_assert(cuda::mr::resource_with<CudaResource<cuda::mr::host_accessible>, cuda::mr::host_accessible>);
static_assert(cuda::mr::resource_with<CudaResource<cuda::mr::device_accessible>, cuda::mr::device_accessible>);

}  // namespace memarray
