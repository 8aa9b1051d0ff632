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

// pybind11's tables, which all modules of a process share, are standard containers too: a module with another layout of
// containers may crash before memarray's code runs. A project that compiles libmemarray itself defines
// MEMARRAY_ANY_STANDARD_LIBRARY; the libraries are then compared when a module is imported.
#if !defined(MEMARRAY_ANY_STANDARD_LIBRARY)
static_assert(MEMARRAY_STANDARD_LIBRARY == StandardLibrary::libstdcxx,
              "this module is compiled with _GLIBCXX_DEBUG, _GLIBCXX_USE_CXX11_ABI=0 or another standard library than "
              "libstdc++, and libmemarray is not: their containers or strings have another layout. Leave it out; "
              "-D_GLIBCXX_ASSERTIONS checks, too, and changes no layout");
#endif

/// The requirements of a function on the memory of an argument.
struct ViewWanted {
  static constexpr std::int64_t any_reach = std::numeric_limits<std::int64_t>::max();

  DType const& dtype;
  int ndim;
  bool writable;
  ViewOptions options = ViewOptions::none;
  bool forward = false;                   ///< strides must be positive, as `layout_stride` of an mdspan requires
  std::int64_t const* extents = nullptr;  ///< `ndim` of them, −1 for any; null: any extents
  std::int64_t reach = any_reach;         ///< maximum of each extent and of the span, in elements with gaps
};

/// The result of loading an argument.
enum class Loaded : int {
  failed = -1,  ///< the Python error is set
  no = 0,       ///< not of this type; also any mismatch or `Exception` if `converts` is false
  yes = 1,
};

/// The functions of the extension module `memarray._core` for modules that show their arrays to Python. The table is in
/// the capsule `memarray._core._PYTHON_API`, so that arrays have one Python type whichever module made them. All need
/// the GIL. Failure is null or −1, with the Python error set.
struct Bridge {
  static constexpr std::uint32_t current_version = 4;
  static constexpr char const* capsule_name = "memarray._core._PYTHON_API";

  std::uint32_t version;
  /// Returns a new Python array that takes ownership of the state.
  PyObject* (*wrap)(detail::ArrayStatePtr state);
  /// Returns the state of a Python array, borrowed; null without an error for any other object.
  detail::ArrayState* (*unwrap)(PyObject* object);
  /// Adds a factory of arrays with this dtype and rank to `MemArray._TYPE_INSTANCE_MAP`. `add_index` implements
  /// `add_index_tuple`; null if the dtype has no `+=` with a number.
  int (*register_instance)(DType const& dtype, int ndim,
                           void (*add_index)(detail::ArrayState& state, std::int64_t stream));
  /// Returns a new `memarray.Stream`, `Event` or `MemoryPool` with the handle.
  PyObject* (*wrap_stream)(StreamHandle const& stream);
  PyObject* (*wrap_event)(EventHandle const& event);
  PyObject* (*wrap_pool)(MemoryPoolHandle const& pool);
  /// Fills in `view` with the memory of an object. For a `MemArray`, `view` keeps a new lease open. Copies only to
  /// replace bools that are neither 0 nor 1, or if the producer does. With `converts`, memory that does not fit is a
  /// `TypeError` that explains why. Without it, only `KeyboardInterrupt` and other non-`Exception` types are raised.
  Loaded (*load_view)(PyObject* object, ViewWanted const& wanted, bool converts, detail::ViewTarget view);
  /// Returns a new `memarray.BufferView`.
  PyObject* (*wrap_view)(detail::ViewCore const& view);
  /// Finds the stream that a `memarray.Stream`, an object with `__cuda_stream__`, an integer or None names. With
  /// `converts`, a stream that is not available is an error. Without it, exceptions are raised as by `load_view`.
  Loaded (*load_stream)(PyObject* object, bool converts, StreamHandle& stream);
  /// Sets the Python error that corresponds to an exception of memarray. Returns false for any other exception.
  bool (*translate)(std::exception_ptr const& error);
};

/// Returns the table of a core that matches the version and the library of this module. Returns null with the Python
/// error set, or throws `Error`. Needs the GIL.
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
