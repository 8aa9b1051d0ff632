#pragma once

// The table of the core, as a pybind11 module reaches it.

#include <memarray/base/build_info.hpp>
#include <memarray/base/config.hpp>
#include <memarray/python/bridge.hpp>

#include <pybind11/pybind11.h>

#include <exception>

namespace memarray::python {

namespace bridging {

/// Fetches the table; once a module, with the GIL. Everything that can call Python happens outside any C++ lock.
inline Bridge const& fetch_bridge() {
  require_abi(MEMARRAY_ABI_VERSION, MEMARRAY_HAS_CUDA != 0);
  pybind11::module_::import("memarray");
  auto const* const table = static_cast<Bridge const*>(PyCapsule_Import(Bridge::capsule_name, 0));
  if (!table) throw pybind11::error_already_set();
  if (table->version != Bridge::current_version)
    throw pybind11::import_error(
        "this module was compiled for another version of memarray's Python table: build it again");
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    if (error && !static_cast<Bridge const*>(PyCapsule_Import(Bridge::capsule_name, 0))->translate(error))
      std::rethrow_exception(error);
  });
  return *table;
}

// One a module, so hidden: the translator is registered in the module that asks.
[[gnu::visibility("hidden")]] inline Bridge const& bridge() {
  static Bridge const* table = nullptr;  // a constant: no guard is held while Python runs
  if (!table) table = &fetch_bridge();
  return *table;
}

/// Of a function of the table that makes an object.
inline pybind11::object checked(PyObject* made) {
  if (!made) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(made);
}

/// Of a function of the table that reads an argument: what a caster's `load` returns.
inline bool checked(Loaded loaded) {
  if (loaded == Loaded::failed) throw pybind11::error_already_set();
  return loaded == Loaded::yes;
}

}  // namespace bridging

/// Makes memarray's exceptions arrive in Python as what they are, from every function of this module. Casters and
/// `bind_mem_array` do it too; call it first in a module whose functions may throw before they are used.
inline void initialize() { bridging::bridge(); }

}  // namespace memarray::python
