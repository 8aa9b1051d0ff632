#pragma once

#include <memarray/base/build_info.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/state/array_state.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/view/array_view.hpp>

#include <Python.h>

#include <cstdint>
#include <exception>
#include <limits>

namespace memarray::python {

struct ViewWanted {
  static constexpr std::int64_t any_reach = std::numeric_limits<std::int64_t>::max();

  DType const& dtype;
  int ndim;
  bool writable;
  ViewOptions options = ViewOptions::none;
  bool forward = false;                   ///< strides must be positive, as for `layout_stride`
  std::int64_t const* extents = nullptr;  ///< `ndim` extents; −1 or null: any
  std::int64_t reach = any_reach;         ///< maximum of each extent, and of the span in elements, gaps included
};

enum class Loaded : int {
  failed = -1,  ///< the Python error is set
  no = 0,       ///< another type; without `converts`, also a mismatch or a Python `Exception`
  yes = 1,
};

/// The functions of `memarray._core` for modules. All need the GIL. Failure is null or −1 with the Python error set.
struct Bridge {
  static constexpr std::uint32_t current_version = 4;
  static constexpr char const* capsule_name = "memarray._core._PYTHON_API";

  std::uint32_t version;
  /// Returns a new Python array that takes over the state.
  PyObject* (*wrap)(detail::ArrayStatePtr state);
  /// Returns the borrowed state of a Python array; null without an error for other objects.
  detail::ArrayState* (*unwrap)(PyObject* object);
  /// Adds a factory to `MemArray._TYPE_INSTANCE_MAP`. `add_index` implements `add_index_tuple`; null if the type has no
  /// `+` with a number.
  int (*register_instance)(DType const& dtype, int ndim,
                           void (*add_index)(detail::ArrayState& state, std::int64_t stream));
  PyObject* (*wrap_stream)(StreamHandle const& stream);
  PyObject* (*wrap_event)(EventHandle const& event);
  PyObject* (*wrap_pool)(MemoryPoolHandle const& pool);
  /// Fills in `view`, which holds a new lease of a `MemArray`. Copies only if the producer or the lease does, or for a
  /// reader of bools other than 0 and 1. With `converts`, a mismatch is a `TypeError`, or `no` if a fitting overload
  /// failed before. Without it, only `LockError`, `CudaError` and types that are no `Exception` are raised.
  Loaded (*load_view)(PyObject* object, ViewWanted const& wanted, bool converts, detail::ViewTarget view);
  PyObject* (*wrap_view)(detail::ViewCore const& view);
  /// Loads an `Argument<StreamHandle>`. With `converts`, an unavailable stream is an error; else raises like
  /// `load_view`.
  Loaded (*load_stream)(PyObject* object, bool converts, StreamHandle& stream);
  /// Sets the Python error for an exception of memarray; false for others.
  bool (*translate)(std::exception_ptr const& error);
};

/// Imports memarray and returns its table; null with the Python error set, also for another version. Throws `Error` if
/// the library does not match this module. Needs the GIL.
inline Bridge const* find_bridge() {
  require_matching_library();
  PyObject* const package = PyImport_ImportModule("memarray");
  if (!package) return nullptr;
  Py_DECREF(package);
  auto const* const table = static_cast<Bridge const*>(PyCapsule_Import(Bridge::capsule_name, 0));
  if (!table || table->version == Bridge::current_version) return table;
  PyErr_SetString(PyExc_ImportError,
                  "this module was compiled for another version of memarray's Python table: build it again");
  return nullptr;
}

}  // namespace memarray::python
