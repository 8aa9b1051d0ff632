#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <string>

namespace memarray::detail {

/// The Python binding's functions for the C API. Objects are `PyObject*`. All need the GIL. Failure is null or false
/// with the Python error set.
struct ObjectBridge {
  /// Returns the borrowed state.
  ArrayState* (*array_in)(void* object) noexcept;
  /// Accepts a `memarray.BufferView` alone.
  bool (*view_in)(void* object, ViewCore& view) noexcept;
  /// Returns a new `memarray.MemArray` that shares the state.
  void* (*show_array)(ArrayState& state) noexcept;
  void* (*show_view)(ViewCore const& view) noexcept;
  /// Implements `memarray.BufferView(object)`.
  bool (*import_view)(void* object, ViewCore& view) noexcept;
  /// Returns the running line of Python code, or "".
  std::string (*line_of_caller)();
  /// Logs queued reports. Preserves a pending error.
  void (*log_reports)() noexcept;
};

/// Installs `bridge`, which must live as long as the process.
MEMARRAY_API void set_object_bridge(ObjectBridge const& bridge) noexcept;
/// Null until `memarray` is imported.
[[nodiscard]] MEMARRAY_API ObjectBridge const* object_bridge() noexcept;

}  // namespace memarray::detail
