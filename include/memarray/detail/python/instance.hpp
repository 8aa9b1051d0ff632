#pragma once

// The implementation of bind_mem_array for any binding library.

#include <memarray/array/mem_array.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/python/bridge.hpp>
#include <memarray/memarray.hpp>

#include <cstdint>

namespace memarray::python::bridging {

/// Returns −1 with the Python error set. Needs the GIL.
template <class T, int ndim>
int register_instance(Bridge const& bridge) {
  void (*add_index)(detail::ArrayState&, std::int64_t) = nullptr;
  if constexpr (requires(T element, std::int64_t number) { static_cast<T>(element + static_cast<T>(number)); })
    add_index = [](detail::ArrayState& state, std::int64_t stream) {
      auto array = MemArray<T, ndim>::share(detail::ArrayStatePtr::share(&state));
      add_index_tuple(array, stream);
    };
  return bridge.register_instance(dtype_of<T>(), ndim, add_index);
}

}  // namespace memarray::python::bridging
