#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <string>

namespace memarray::detail {

/// Functions of the Python binding for the C API, filled in when it is imported. Objects are `PyObject*`. All need the
/// GIL. Failure is null or false, with the Python error set.
struct ObjectBridge {
  /// Returns the state of a `memarray.MemArray`, borrowed.
  ArrayState* (*array_in)(void* object) noexcept;
  /// Copies the view of a `memarray.BufferView` to `view`.
  bool (*view_in)(void* object, ViewCore& view) noexcept;
  /// Returns a new `memarray.MemArray` that shares the state.
  void* (*show_array)(ArrayState& state) noexcept;
  /// Returns a new `memarray.BufferView` of the same memory.
  void* (*show_view)(ViewCore const& view) noexcept;
  /// Sets `view` to the view that `memarray.BufferView(object)` makes.
  bool (*import_view)(void* object, ViewCore& view) noexcept;
  /// Returns the line of Python code that is being executed; empty if there is none.
  std::string (*line_of_caller)();
  /// Logs the reports that were queued meanwhile. Preserves a pending error.
  void (*log_reports)() noexcept;
};

/// Installs `bridge`, which must live as long as the process.
MEMARRAY_API void set_object_bridge(ObjectBridge const& bridge) noexcept;
/// Returns the installed bridge; null until `memarray` is imported.
[[nodiscard]] MEMARRAY_API ObjectBridge const* object_bridge() noexcept;

}  // namespace memarray::detail
