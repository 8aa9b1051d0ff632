#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// Returns a device's primary context. All handles share one retention; that of a real device lasts until the process
/// ends.
[[nodiscard]] MEMARRAY_API ContextHandle get_primary_context(int device_id) noexcept;
/// Returns the thread's current context, not owned; null with code 201 (CUDA_ERROR_INVALID_CONTEXT) if none.
[[nodiscard]] MEMARRAY_API ContextHandle get_current_context() noexcept;
/// Creates a context (`cuCtxCreate` with `flags`) without making it current.
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle(int device_id, unsigned flags = 0) noexcept;
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle_ref(cu::Context context) noexcept;
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle_with_owner(cu::Context context,
                                                                          KeepAlive owner) noexcept;

/// Returns −1 with the last error set for a null handle.
[[nodiscard]] MEMARRAY_API int device_id_of(ContextHandle const& context) noexcept;
/// Returns null for a null handle and in a child forked since the context's creation.
[[nodiscard]] MEMARRAY_API DriverTable const* driver_of(ContextHandle const& context) noexcept;

namespace detail {

/// True if the handle keeps its context alive.
[[nodiscard]] MEMARRAY_API bool keeps_context(ContextHandle const& context) noexcept;

/// Returns the primary context if a handle to it exists, else null.
[[nodiscard]] ContextHandle held_primary_context(int device_id) noexcept;
/// Returns the highest device whose primary context has a handle, or −1.
[[nodiscard]] int last_held_device() noexcept;

/// A scope in which a context is current. On failure, `driver()` is null and the last error set.
class MEMARRAY_API ContextScope {
 public:
  [[nodiscard]] explicit ContextScope(ContextHandle const& context) noexcept;
  ~ContextScope();
  ContextScope(ContextScope const&) = delete;
  ContextScope& operator=(ContextScope const&) = delete;

  [[nodiscard]] DriverTable const* driver() const noexcept { return _driver; }

 private:
  DriverTable const* _driver;
  bool _pushed = false;
};

}  // namespace detail

/// A scope in which a context is current, for calls that refer to the current one: of the driver or the CUDA runtime,
/// with a default stream. The end of the scope makes the context before it current again, in the same thread.
///
/// Throws like `throw_last_error(what)`, also for a null handle and in a child forked since the context's creation.
class MEMARRAY_API EnteredContext {
 public:
  [[nodiscard]] EnteredContext(ContextHandle const& context, char const* what);

  [[nodiscard]] DriverTable const& driver() const noexcept { return *_scope.driver(); }

 private:
  detail::ContextScope _scope;
};

}  // namespace memarray
