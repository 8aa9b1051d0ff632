#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/detail/view/view_core.hpp>

#include <string>

namespace memarray::detail {

/// What the C API asks of the Python binding, which fills this in when it is imported. Objects are `PyObject*`. All
/// need the GIL.
struct ObjectBridge {
  /// The state of a `memarray.MemArray`, borrowed; null with the Python error set.
  State* (*array_in)(void* object) noexcept;
  /// What a `memarray.BufferView` shows; false with the Python error set.
  bool (*view_in)(void* object, ViewCore& view) noexcept;
  /// A new `memarray.MemArray` that shares the state; null with the Python error set.
  void* (*show_array)(State& state) noexcept;
  /// A new `memarray.BufferView` of the same memory; null with the Python error set.
  void* (*show_view)(ViewCore const& view) noexcept;
  /// What `memarray.BufferView(object)` shows; false with the Python error set.
  bool (*import_view)(void* object, ViewCore& view) noexcept;
  /// Python's line that is being executed; empty where there is none.
  std::string (*line_of_caller)();
  /// Logs what was reported meanwhile; keeps a pending error.
  void (*log_reports)() noexcept;
};

/// `bridge` lives as long as the process.
MEMARRAY_API void set_object_bridge(ObjectBridge const& bridge) noexcept;
/// Null until `memarray` is imported.
[[nodiscard]] MEMARRAY_API ObjectBridge const* object_bridge() noexcept;

}  // namespace memarray::detail
