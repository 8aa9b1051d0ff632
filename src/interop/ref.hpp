#pragma once

#include <memarray/interop/c_api.h>
#include <memarray/base/cuda_code.hpp>
#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/last_error.hpp>

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace memarray::detail {

/// The target of a C API ref. With a count of its own, `retain` returns the same pointer and cannot fail.
template <class TheHandle>
struct Counted {
  using Handle = TheHandle;
  explicit Counted(Handle of) noexcept : handle(std::move(of)) {}

  std::atomic<std::size_t> count{1};
  Handle handle;
};

}  // namespace memarray::detail

struct MemArrayContext : memarray::detail::Counted<memarray::ContextHandle> {
  using Counted::Counted;
};
struct MemArrayStream : memarray::detail::Counted<memarray::StreamHandle> {
  using Counted::Counted;
};
struct MemArrayEvent : memarray::detail::Counted<memarray::EventHandle> {
  using Counted::Counted;
};
struct MemArrayMemoryPool : memarray::detail::Counted<memarray::MemoryPoolHandle> {
  using Counted::Counted;
};
struct MemArrayDevicePtr : memarray::detail::Counted<memarray::DevicePtrHandle> {
  using Counted::Counted;
};

namespace memarray::detail {

/// Returns a new ref; null for a null handle, and with CUDA_ERROR_OUT_OF_MEMORY if memory is short.
template <class Ref>
[[nodiscard]] Ref give(typename std::remove_pointer_t<Ref>::Handle handle) noexcept {
  if (!handle) return nullptr;
  auto* const ref = new (std::nothrow) std::remove_pointer_t<Ref>(std::move(handle));
  if (!ref) record_error(cuda_code::out_of_memory);
  return ref;
}

template <class Object>
Object* retain(Object* ref) noexcept {
  if (ref) ref->count.fetch_add(1, std::memory_order_relaxed);
  return ref;
}

template <class Object>
void release(Object* ref) noexcept {
  if (ref && ref->count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete ref;
}

/// True for refs to driver handles.
template <class Object>
inline constexpr bool is_handle_ref = requires(Object const& ref) { as_cu(ref.handle); };

/// True if no pointer is null. Otherwise sets the last error, unless there is one: for driver handles why there is no
/// driver, else CUDA_ERROR_INVALID_HANDLE.
template <class... Objects>
[[nodiscard]] bool none_null(Objects const*... refs) noexcept {
  if ((... && (refs != nullptr))) return true;
  if constexpr ((... || is_handle_ref<Objects>)) return fail_for_null(cuda_code::invalid_handle);
  return peek_last_error() == 0 && succeeded(cuda_code::invalid_handle);
}

}  // namespace memarray::detail
