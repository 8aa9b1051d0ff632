#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/handle.hpp>

namespace memarray {

/// The context that a device shares with everybody in the process, retained while the handle lives.
[[nodiscard]] MEMARRAY_API ContextHandle get_primary_context(int device_id) noexcept;
/// The calling thread's current context, borrowed. Null with code 201 (no context) if it has none.
[[nodiscard]] MEMARRAY_API ContextHandle get_current_context() noexcept;
/// A context of its own on a device; `flags` as for `cuCtxCreate`. It is not made current.
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle(int device_id, unsigned flags = 0) noexcept;
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle_ref(cu::Context context) noexcept;
[[nodiscard]] MEMARRAY_API ContextHandle create_context_handle_with_owner(cu::Context context,
                                                                          KeepAlive owner) noexcept;

/// The device that a context is on. −1, with the last error set, for a null handle.
[[nodiscard]] MEMARRAY_API int device_id_of(ContextHandle const& context) noexcept;
/// The driver that a context was made with; null in a child forked since, and for a null handle.
[[nodiscard]] MEMARRAY_API DriverTable const* driver_of(ContextHandle const& context) noexcept;

namespace detail {

/// Whether the context is there as long as the handle is.
[[nodiscard]] MEMARRAY_API bool keeps_context(ContextHandle const& context) noexcept;

/// The primary context of a device if somebody holds it, else null; and the last device of which somebody does, or −1.
[[nodiscard]] ContextHandle held_primary_context(int device_id) noexcept;
[[nodiscard]] int last_held_device() noexcept;

/// Makes a context current for a scope, if it is not. `driver()` is null, with the last error set, if that failed: for
/// functions that return errors. Those that throw use `EnteredContext`.
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

/// The same, certainly: throws the `CudaError` whose message begins with `what` if the context cannot be made current.
/// In a forked child it throws without calling the driver.
class MEMARRAY_API EnteredContext {
 public:
  [[nodiscard]] EnteredContext(ContextHandle const& context, char const* what);

  [[nodiscard]] DriverTable const& driver() const noexcept { return *_scope.driver(); }

 private:
  ContextScope _scope;
};

}  // namespace detail
}  // namespace memarray
