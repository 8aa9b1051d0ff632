#pragma once

#include <memarray/detail/python/arguments.hpp>
#include <memarray/detail/python/module_bridge.hpp>
#include <memarray/detail/python/span_containers.hpp>
#include <memarray/view/array_view.hpp>

#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>

namespace pybind11::detail {

/// A caster that borrows memory of any library. A result becomes a `BufferView` without a lease.
template <class T, int ndim, memarray::ViewOptions options>
class type_caster<memarray::ArrayView<T, ndim, options>>
    : public memarray::python::bridging::ArgumentCaster<memarray::ArrayView<T, ndim, options>> {
 public:
  static handle cast(memarray::ArrayView<T, ndim, options> const& view, return_value_policy, handle) {
    using namespace memarray::python;
    return bridging::checked(bridging::bridge().wrap_view(view.core())).release();
  }
};

template <class T, std::size_t extent>
  requires memarray::Element<T>
class type_caster<std::span<T, extent>> : public memarray::python::bridging::SpanCaster<std::span<T, extent>> {};

template <class T, class Index, std::size_t... extents, class Layout>
  requires memarray::Element<T>
class type_caster<cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>>
    : public memarray::python::bridging::SpanCaster<
          cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>> {};

}  // namespace pybind11::detail
