#pragma once

// Handles of streams, events and pools as results; streams as arguments too.

#include <memarray/python/module_bridge.hpp>

#include <pybind11/pybind11.h>

#include <utility>

namespace memarray::python {

/// The handle as a `memarray.Stream`, `Event` or `MemoryPool`, which shares it: what it stands for lives as long as
/// either. Null is a `ValueError`. With the GIL. (Seed 000, "Accessing Handle Values".)
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

/// Takes a `memarray.Stream`, an object with `__cuda_stream__`, which the handle keeps, an integer (0 and 1: the
/// default stream, 2: the thread's own, else an address) or None (the default stream). These are names of streams and
/// no conversions, so that overloads of a function that takes a stream, too, are told apart in pybind11's first pass.
template <>
class type_caster<memarray::StreamHandle> {
 public:
  static constexpr auto name = const_name("memarray.Stream");
  template <class To>
  using cast_op_type = movable_cast_op_type<To>;

  bool load(handle source, bool convert) {
    using namespace memarray::python;
    return bridging::checked(bridging::bridge().load_stream(source.ptr(), convert, _stream));
  }
  static handle cast(memarray::StreamHandle const& stream, return_value_policy, handle) {
    return memarray::as_py(stream).release();
  }

  operator memarray::StreamHandle*() { return &_stream; }
  operator memarray::StreamHandle&() { return _stream; }
  operator memarray::StreamHandle&&() && { return std::move(_stream); }

 private:
  memarray::StreamHandle _stream;
};

}  // namespace pybind11::detail
