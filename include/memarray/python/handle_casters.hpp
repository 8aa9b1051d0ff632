#pragma once

/// @file
/// `as_py` for stream, event and pool handles, and the caster of streams.

#include <memarray/detail/python/arguments.hpp>
#include <memarray/detail/python/module_bridge.hpp>

#include <pybind11/pybind11.h>

namespace memarray::python {

/// Returns a `memarray.Stream`, `Event` or `MemoryPool` that shares the handle; a `ValueError` for null. Needs the GIL.
inline pybind11::object as_py(StreamHandle const& stream) {
  return bridging::checked(bridging::bridge().wrap_stream(stream));
}
inline pybind11::object as_py(EventHandle const& event) {
  return bridging::checked(bridging::bridge().wrap_event(event));
}
inline pybind11::object as_py(MemoryPoolHandle const& pool) {
  return bridging::checked(bridging::bridge().wrap_pool(pool));
}

}  // namespace memarray::python

namespace memarray {
using python::as_py;
}  // namespace memarray

namespace pybind11::detail {

template <>
class type_caster<memarray::StreamHandle> : public memarray::python::bridging::ArgumentCaster<memarray::StreamHandle> {
 public:
  static handle cast(memarray::StreamHandle const& stream, return_value_policy, handle) {
    return memarray::as_py(stream).release();
  }
};

}  // namespace pybind11::detail
