#pragma once

// ArrayView, std::span and cuda::std::mdspan as arguments: memory of any library, without a copy.

#include <memarray/array/array_view.hpp>
#include <memarray/python/module_bridge.hpp>

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace memarray::python::bridging {

/// In signatures: `typing.Annotated[typing.Any, "float64, ndim=2, writable"]`.
template <class T, int ndim>
constexpr auto view_name() {
  using pybind11::detail::const_name;
  using Traits = dtype_traits<std::remove_cv_t<T>>;
  auto const dtype = []<std::size_t... at>(std::index_sequence<at...>) {
    return pybind11::detail::descr<sizeof...(at)>(Traits::name[at]...);
  }(std::make_index_sequence<Traits::name.size()>());
  return const_name("typing.Annotated[typing.Any, \"") + dtype + const_name(", ndim=") +
         const_name<static_cast<std::size_t>(ndim)>() + const_name<std::is_const_v<T>>("", ", writable") +
         const_name("\"]");
}

/// A view as a function wants it, borrowed for an argument.
template <class T, int ndim, ViewOptions options>
bool load_view(pybind11::handle source, bool convert, ArrayView<T, ndim, options>& view, bool forward = false,
               std::int64_t const* extents = nullptr, std::int64_t reach = ViewWanted::any_reach) {
  ViewWanted const wanted{dtype_of<T>(), ndim, !std::is_const_v<T>, options, forward, extents, reach};
  return checked(bridge().load_view(source.ptr(), wanted, convert, view.target()));
}

}  // namespace memarray::python::bridging

namespace pybind11::detail {

/// Borrows memory of any library for a function: DLPack, the buffer protocol, `__array_interface__`, a `MemArray`, a
/// lease, a `BufferView`. Nothing is copied or converted. The memory lives, and an array's lease is held, as long as
/// the view and its copies. What does not fit is a `TypeError` in words.
///
/// A view that is returned is a `BufferView`, which keeps the memory and holds no lease.
template <class T, int ndim, memarray::ViewOptions options>
class type_caster<memarray::ArrayView<T, ndim, options>> {
  using View = memarray::ArrayView<T, ndim, options>;

 public:
  static constexpr auto name = memarray::python::bridging::view_name<T, ndim>();

  bool load(handle source, bool convert) { return memarray::python::bridging::load_view(source, convert, _view); }
  static handle cast(View const& view, return_value_policy, handle) {
    using namespace memarray::python;
    return bridging::checked(bridging::bridge().wrap_view(view.core())).release();
  }

  template <class To>
  using cast_op_type = movable_cast_op_type<To>;
  operator View*() { return &_view; }
  operator View&() { return _view; }
  operator View&&() && { return std::move(_view); }

 private:
  View _view;
};

/// The same for dense memory of one dimension. The span is for the length of the call.
template <class T, std::size_t extent>
  requires memarray::Element<T>
class type_caster<std::span<T, extent>> {
 public:
  static constexpr auto name = memarray::python::bridging::view_name<T, 1>();
  template <class>
  using cast_op_type = std::span<T, extent>;

  bool load(handle source, bool convert) {
    constexpr std::int64_t wanted = extent == std::dynamic_extent ? -1 : static_cast<std::int64_t>(extent);
    return memarray::python::bridging::load_view(source, convert, _view, false, &wanted);
  }
  operator std::span<T, extent>() const {
    return std::span<T, extent>(_view.data(), static_cast<std::size_t>(_view.size()));
  }

 private:
  memarray::ArrayView<T, 1, memarray::c_order> _view;
};

/// The same for an mdspan: dense for `layout_right` and `layout_left`, with strides above zero for `layout_stride`.
template <class T, class Index, std::size_t... extents, class Layout>
  requires memarray::Element<T>
class type_caster<cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>> {
  using Extents = cuda::std::extents<Index, extents...>;
  using Mapping = typename Layout::template mapping<Extents>;
  using MdSpan = cuda::std::mdspan<T, Extents, Layout>;
  static constexpr int ndim = sizeof...(extents);
  static constexpr bool is_right = std::is_same_v<Layout, cuda::std::layout_right>;
  static constexpr bool is_left = std::is_same_v<Layout, cuda::std::layout_left>;
  static_assert(is_right || is_left || std::is_same_v<Layout, cuda::std::layout_stride>,
                "memarray: an mdspan argument has layout_right, layout_left or layout_stride");

 public:
  static constexpr auto name = memarray::python::bridging::view_name<T, ndim>();
  template <class>
  using cast_op_type = MdSpan;

  bool load(handle source, bool convert) {
    static constexpr std::array<std::int64_t, ndim> wanted{
        (extents == cuda::std::dynamic_extent ? -1 : static_cast<std::int64_t>(extents))...};
    constexpr bool is_wide = sizeof(Index) >= sizeof(std::int64_t);
    constexpr std::int64_t reach = is_wide ? memarray::python::ViewWanted::any_reach
                                           : static_cast<std::int64_t>(std::numeric_limits<Index>::max());
    return memarray::python::bridging::load_view(source, convert, _view, !is_right && !is_left, wanted.data(), reach);
  }
  operator MdSpan() const {
    cuda::std::array<Index, ndim> shape{};
    for (int d = 0; d < ndim; ++d) shape[d] = static_cast<Index>(_view.extent(d));
    if constexpr (is_right || is_left) {
      return MdSpan(_view.data(), Extents(shape));
    } else {
      cuda::std::array<Index, ndim> strides{};
      // Of one element or none nobody steps.
      for (int d = 0; d < ndim; ++d) strides[d] = shape[d] <= 1 ? Index{1} : static_cast<Index>(_view.stride(d));
      return MdSpan(_view.data(), Mapping(Extents(shape), strides));
    }
  }

 private:
  static constexpr memarray::ViewOptions options = is_right  ? memarray::c_order
                                                   : is_left ? memarray::f_order
                                                             : memarray::ViewOptions::none;
  memarray::ArrayView<T, ndim, options> _view;
};

}  // namespace pybind11::detail
