#pragma once

#include <memarray/array/state.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/resource/event_handle.hpp>
#include <memarray/resource/memory_pool_handle.hpp>

#include <Python.h>

#include <cstdint>
#include <exception>

namespace memarray::python {

/// What the extension module `memarray._core` does for modules that show their arrays to Python: a table in the capsule
/// `memarray._core._PYTHON_API`, so that arrays have one Python type whichever module made them. All need the GIL.
struct Bridge {
  static constexpr std::uint32_t current_version = 2;
  static constexpr char const* capsule_name = "memarray._core._PYTHON_API";

  std::uint32_t version;
  /// A new Python array with the state; null with the Python error set.
  PyObject* (*wrap)(detail::State& state);
  /// The state of a Python array, borrowed; null, without an error, for anything else.
  detail::State* (*unwrap)(PyObject* object);
  /// Adds an instance to `MemArray._TYPE_INSTANCE_MAP`; −1 with the Python error set. `add_index` may be null.
  int (*register_instance)(DType const& dtype, int ndim, void (*add_index)(detail::State& state, std::int64_t stream));
  /// A new `memarray.Stream`, `Event` or `MemoryPool` with the handle; null with the Python error set.
  PyObject* (*wrap_stream)(StreamHandle const& stream);
  PyObject* (*wrap_event)(EventHandle const& event);
  PyObject* (*wrap_pool)(MemoryPoolHandle const& pool);
  /// Sets the Python error for an exception of memarray's; false for any other.
  bool (*translate)(std::exception_ptr const& error);
};

}  // namespace memarray::python
