#pragma once

#include <memarray/base/build_info.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/state/state.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/view/array_view.hpp>

#include <Python.h>

#include <cstdint>
#include <exception>
#include <limits>

namespace memarray::python {

// pybind11's own tables, which all modules of a process share, are containers too, so that a module with others may
// crash before memarray's code runs. A project that compiles libmemarray itself defines MEMARRAY_ANY_STANDARD_LIBRARY:
// what that was compiled with is compared when a module is imported.
#if !defined(MEMARRAY_ANY_STANDARD_LIBRARY)
static_assert(MEMARRAY_STANDARD_LIBRARY == StandardLibrary::libstdcxx,
              "this module is compiled with _GLIBCXX_DEBUG, _GLIBCXX_USE_CXX11_ABI=0 or another standard library than "
              "libstdc++, and libmemarray is not: their containers or strings have another layout. Leave it out; "
              "-D_GLIBCXX_ASSERTIONS checks, too, and changes no layout");
#endif

/// What a function wants of the memory that it is given.
struct ViewWanted {
  static constexpr std::int64_t any_reach = std::numeric_limits<std::int64_t>::max();

  DType const& dtype;
  int ndim;
  bool writable;
  ViewOptions options = ViewOptions::none;
  bool forward = false;                   ///< strides above zero, as mdspan has them
  std::int64_t const* extents = nullptr;  ///< `ndim` of them, −1 for any; null: all may be any
  std::int64_t reach = any_reach;         ///< elements from the first to the last, at most
};

/// What became of an argument.
enum class Loaded : int {
  failed = -1,  ///< the Python error is set
  no = 0,       ///< it is none of ours, or it does not fit and nobody asked why
  yes = 1,
};

/// What the extension module `memarray._core` does for modules that show their arrays to Python: a table in the capsule
/// `memarray._core._PYTHON_API`, so that arrays have one Python type whichever module made them. All need the GIL.
struct Bridge {
  static constexpr std::uint32_t current_version = 4;
  static constexpr char const* capsule_name = "memarray._core._PYTHON_API";

  std::uint32_t version;
  /// A new Python array with the state, which it takes over; null with the Python error set.
  PyObject* (*wrap)(detail::StatePtr state);
  /// The state of a Python array, borrowed; null, without an error, for anything else.
  detail::State* (*unwrap)(PyObject* object);
  /// Adds an instance to `MemArray._TYPE_INSTANCE_MAP`; −1 with the Python error set. `add_index` may be null.
  int (*register_instance)(DType const& dtype, int ndim, void (*add_index)(detail::State& state, std::int64_t stream));
  /// A new `memarray.Stream`, `Event` or `MemoryPool` with the handle; null with the Python error set.
  PyObject* (*wrap_stream)(StreamHandle const& stream);
  PyObject* (*wrap_event)(EventHandle const& event);
  PyObject* (*wrap_pool)(MemoryPoolHandle const& pool);
  /// Borrows the memory of an object, without a copy; of an array with its lease, which `view` then holds. `converts`:
  /// memory that does not fit is a `TypeError` in words, else nothing is raised.
  Loaded (*load_view)(PyObject* object, ViewWanted const& wanted, bool converts, detail::ViewTarget view);
  /// A new `memarray.BufferView`; null with the Python error set.
  PyObject* (*wrap_view)(detail::ViewCore const& view);
  /// The stream that a `memarray.Stream`, what has `__cuda_stream__`, an integer or None names. `converts`: one that
  /// cannot be had is an error, else nothing is raised.
  Loaded (*load_stream)(PyObject* object, bool converts, StreamHandle& stream);
  /// Sets the Python error for an exception of memarray's; false for any other.
  bool (*translate)(std::exception_ptr const& error);
};

/// The table of a core that serves what this module was compiled with; null with the Python error set, or an Error.
/// With the GIL.
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
