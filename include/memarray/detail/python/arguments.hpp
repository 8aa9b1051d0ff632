#pragma once

// The casters of pybind11 and nanobind adapt these classes.

#include <memarray/array/mem_array.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/detail/python/bridge.hpp>
#include <memarray/view/array_view.hpp>

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace memarray::python {

/// An argument of a bound function. `load` borrows it from an object, and returns `no` for other types; a mismatch is a
/// `TypeError` with `converts`, else `no`. `value` is valid as long as the `Argument`. `name`: the type in signatures.
/// Needs the GIL.
template <class Parameter>
class Argument;

/// A type with an `Argument`, also if const.
template <class T>
concept HasArgument = requires { sizeof(Argument<std::remove_const_t<T>>); };

namespace bridging {

// No lambdas: nvcc does not evaluate them in a class's initializers.
template <class T, ViewOptions options>
constexpr std::array<std::string_view, 7> view_name_parts() {
  return {"typing.Annotated[typing.Any, \"",
          dtype_traits<std::remove_cv_t<T>>::name,
          ", ndim=",
          includes(options, c_order)   ? ", C order"
          : includes(options, f_order) ? ", Fortran order"
                                       : "",
          std::is_const_v<T> ? "" : ", writable",
          includes(options, on_device) ? ", device" : "",
          "\"]"};
}
constexpr std::size_t digits_of(int number) { return number < 10 ? 1 : 2; }
template <class T, int ndim, ViewOptions options>
constexpr std::size_t view_name_size() {
  static_assert(ndim < 100);
  std::size_t size = digits_of(ndim);
  for (std::string_view const part : view_name_parts<T, options>()) size += part.size();
  return size;
}
template <class T, int ndim, ViewOptions options>
constexpr std::array<char, view_name_size<T, ndim, options>()> view_name_text() {
  std::array<char, view_name_size<T, ndim, options>()> text{};
  std::size_t at = 0;
  int number = 0;
  for (std::string_view const part : view_name_parts<T, options>()) {
    for (char const character : part) text[at++] = character;
    if (++number != 3) continue;
    if (digits_of(ndim) == 2) text[at++] = static_cast<char>('0' + ndim / 10);
    text[at++] = static_cast<char>('0' + ndim % 10);
  }
  return text;
}
template <class T, int ndim, ViewOptions options>
inline constexpr auto view_name_of = view_name_text<T, ndim, options>();
/// `typing.Annotated[typing.Any, "float64, ndim=2, C order, writable, device"]`
template <class T, int ndim, ViewOptions options>
inline constexpr std::string_view view_name{view_name_of<T, ndim, options>.data(),
                                            view_name_of<T, ndim, options>.size()};

inline Loaded load_array(Bridge const& bridge, PyObject* object, DType const& dtype, int ndim, bool converts,
                         detail::ArrayState*& state) {
  state = bridge.unwrap(object);
  if (!state) return Loaded::no;
  if (state->dtype() == dtype && state->ndim() == ndim) return Loaded::yes;
  if (!converts) return Loaded::no;
  std::string const words = "a MemArray<" + std::string(dtype.name_view()) + ", " + std::to_string(ndim) +
                            "> is needed, not " + state->describe();
  PyErr_SetString(PyExc_TypeError, words.c_str());
  return Loaded::failed;
}

}  // namespace bridging

/// A C++ array that shares a Python array's state, also by value. Only dtype and rank are checked; the function opens
/// leases.
template <class T, int ndim>
class Argument<MemArray<T, ndim>> {
 public:
  static constexpr std::string_view name = "memarray.MemArray";

  Loaded load(Bridge const& bridge, PyObject* object, bool converts) {
    detail::ArrayState* state = nullptr;
    Loaded const loaded = bridging::load_array(bridge, object, dtype_of<T>(), ndim, converts, state);
    if (loaded == Loaded::yes) _array = MemArray<T, ndim>::share(detail::ArrayStatePtr::share(state));
    return loaded;
  }
  MemArray<T, ndim>& value() noexcept { return *_array; }

 private:
  std::optional<MemArray<T, ndim>> _array;
};

/// Like `Argument<MemArray>`, in a new `shared_ptr`. With `converts`, None is null.
template <class T, int ndim>
class Argument<std::shared_ptr<MemArray<T, ndim>>> {
 public:
  static constexpr std::string_view name = Argument<MemArray<T, ndim>>::name;

  Loaded load(Bridge const& bridge, PyObject* object, bool converts) {
    if (object == Py_None) return converts ? Loaded::yes : Loaded::no;
    Argument<MemArray<T, ndim>> array;
    Loaded const loaded = array.load(bridge, object, converts);
    if (loaded == Loaded::yes) _pointer = std::make_shared<MemArray<T, ndim>>(std::move(array.value()));
    return loaded;
  }
  std::shared_ptr<MemArray<T, ndim>>& value() noexcept { return _pointer; }

 private:
  std::shared_ptr<MemArray<T, ndim>> _pointer;
};

/// Memory over DLPack, the buffer protocol or `__array_interface__`, or of a `MemArray`, lease or `BufferView`. The
/// view and its copies keep memory and lease. `Bridge::load_view` and `ViewWanted` have the details.
template <class T, int ndim, ViewOptions options>
class Argument<ArrayView<T, ndim, options>> {
 public:
  static constexpr std::string_view name = bridging::view_name<T, ndim, options>;

  Loaded load(Bridge const& bridge, PyObject* object, bool converts, std::int64_t const* extents = nullptr,
              std::int64_t reach = ViewWanted::any_reach, bool forward = false) {
    ViewWanted const wanted{dtype_of<T>(), ndim, !std::is_const_v<T>, options, forward, extents, reach};
    return bridge.load_view(object, wanted, converts, _view.target());
  }
  ArrayView<T, ndim, options>& value() noexcept { return _view; }

 private:
  ArrayView<T, ndim, options> _view;
};

/// Dense memory of one dimension, valid during the call.
template <class T, std::size_t extent>
  requires Element<T>
class Argument<std::span<T, extent>> {
  using View = Argument<ArrayView<T, 1, c_order>>;

 public:
  static constexpr std::string_view name = View::name;

  Loaded load(Bridge const& bridge, PyObject* object, bool converts) {
    constexpr std::int64_t wanted = extent == std::dynamic_extent ? -1 : static_cast<std::int64_t>(extent);
    return _view.load(bridge, object, converts, &wanted);
  }
  std::span<T, extent> value() noexcept {
    auto const& view = _view.value();
    return std::span<T, extent>(view.data(), static_cast<std::size_t>(view.size()));
  }

 private:
  View _view;
};

/// An mdspan, valid during the call: dense, or with positive strides for `layout_stride`.
template <class T, class Index, std::size_t... extents, class Layout>
  requires Element<T>
class Argument<cuda::std::mdspan<T, cuda::std::extents<Index, extents...>, Layout>> {
  using Extents = cuda::std::extents<Index, extents...>;
  using Mapping = typename Layout::template mapping<Extents>;
  using MdSpan = cuda::std::mdspan<T, Extents, Layout>;
  static constexpr int ndim = sizeof...(extents);
  static constexpr bool is_right = std::is_same_v<Layout, cuda::std::layout_right>;
  static constexpr bool is_left = std::is_same_v<Layout, cuda::std::layout_left>;
  static_assert(is_right || is_left || std::is_same_v<Layout, cuda::std::layout_stride>,
                "memarray: an mdspan argument has layout_right, layout_left or layout_stride");
  static constexpr ViewOptions options = is_right ? c_order : is_left ? f_order : ViewOptions::none;
  using View = Argument<ArrayView<T, ndim, options>>;

 public:
  static constexpr std::string_view name = View::name;

  Loaded load(Bridge const& bridge, PyObject* object, bool converts) {
    static constexpr std::array<std::int64_t, static_cast<std::size_t>(ndim)> wanted{
        (extents == cuda::std::dynamic_extent ? -1 : static_cast<std::int64_t>(extents))...};
    constexpr bool is_wide = sizeof(Index) >= sizeof(std::int64_t);
    constexpr std::int64_t reach =
        is_wide ? ViewWanted::any_reach : static_cast<std::int64_t>(std::numeric_limits<Index>::max());
    return _view.load(bridge, object, converts, wanted.data(), reach, !is_right && !is_left);
  }
  MdSpan value() noexcept {
    auto const& view = _view.value();
    memarray::detail::IndexArray<Index, ndim> shape{};
    for (int d = 0; d < ndim; ++d) shape[static_cast<std::size_t>(d)] = static_cast<Index>(view.extent(d));
    if constexpr (is_right || is_left) {
      return MdSpan(view.data(), Extents(shape));
    } else {
      memarray::detail::IndexArray<Index, ndim> strides{};
      for (int d = 0; d < ndim; ++d) strides[static_cast<std::size_t>(d)] = static_cast<Index>(view.mdspan_stride(d));
      return MdSpan(view.data(), Mapping(Extents(shape), strides));
    }
  }

 private:
  View _view;
};

/// A `memarray.Stream`, an object with `__cuda_stream__` (kept alive by the handle), None (the default stream), or an
/// integer as in `StreamChoice`. All load without `converts`.
template <>
class Argument<StreamHandle> {
 public:
  static constexpr std::string_view name = "memarray.Stream";

  Loaded load(Bridge const& bridge, PyObject* object, bool converts) {
    return bridge.load_stream(object, converts, _stream);
  }
  StreamHandle& value() noexcept { return _stream; }

 private:
  StreamHandle _stream;
};

}  // namespace memarray::python
