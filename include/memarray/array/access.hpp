#pragma once

#include <memarray/array/mem_array.hpp>
#include <memarray/base/array_indexer.hpp>
#include <memarray/base/strided_indexer.hpp>
#include <memarray/detail/state/access_mode.hpp>
#include <memarray/view/array_view.hpp>
#include <memarray/view/buffer_view.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace memarray {

namespace detail {

/// A borrowed array with its access mode; holds no lock.
template <class T, int rank, AccessMode mode>
struct ArrayAccess {
  static constexpr AccessMode kind = mode;
  static constexpr int ndim = rank;
  using Element = T;
  ArrayState* state;
  std::int64_t lock_id;
};

/// `dense`: in C order.
template <class T, int rank, AccessMode mode, bool dense>
struct ViewAccess {
  static constexpr AccessMode kind = mode;
  static constexpr int ndim = rank;
  static constexpr bool is_dense = dense;
  using Element = T;
  ViewCore view;
};

/// Checks like the constructor of `ArrayView`, and returns the view.
template <class T, int ndim>
[[nodiscard]] ViewCore typed_core(ViewCore view, bool writable) {
  view.check_open();
  check_typed(view, dtype_of<T>(), ndim, writable, view.on_device() ? on_device : ViewOptions::none);
  return view;
}

template <template <template <class, int> class> class B, AccessMode mode>
struct BundleAccess {
  static_assert(
      requires(B<MemArray>& arrays) { arrays.members(); }, "a bundle names its members: MEMARRAY_BUNDLE(x, v)");
  static constexpr AccessMode kind = mode;
  static constexpr int ndim = 0;
  std::conditional_t<mode == AccessMode::read, B<MemArray> const, B<MemArray>>* arrays;
};

template <class A>
inline constexpr bool is_access = requires { A::kind; };

// Return types of deleted functions: compilers print the mistake.
struct ArrayIsConst;
struct ElementsAreConst;
struct ElementTypeAndRankAreMissing;
struct BundlesAreOnlyReadOrWritten;

}  // namespace detail

/// Names an array that a kernel reads, through an `ArrayIndexer<T const, ndim>`. `lock_id`: as for `MemArray`.
template <class T, int ndim>
[[nodiscard]] auto read(MemArray<T, ndim> const& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::read>;
  return Access{&array.state(), lock_id};
}

/// Names an array that a kernel may change, through an `ArrayIndexer<T, ndim>`. Escaped views cost a reported copy.
template <class T, int ndim>
[[nodiscard]] auto write(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::write>;
  return Access{&array.state(), lock_id};
}

/// Like `write`, for an array of the launch's shape that the kernel sets completely. Escaped views cost fresh memory,
/// but no copy.
template <class T, int ndim>
[[nodiscard]] auto overwrite(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::overwrite>;
  return Access{&array.state(), lock_id};
}

/// Names an array of the launch's shape. The kernel computes each element from its old value, through a `T&`; under
/// escaped views, from old to fresh memory.
template <class T, int ndim>
[[nodiscard]] auto update(MemArray<T, ndim>& array, std::int64_t lock_id = -1) {
  using Access = detail::ArrayAccess<T, ndim, detail::AccessMode::update>;
  return Access{&array.state(), lock_id};
}

// Views of any library's memory. A kernel gets a `StridedIndexer<T, ndim>`, for a `c_order` view an `ArrayIndexer`, for
// `update` a `T&`. No lock is acquired, as the view's lease excludes others; device work is ordered among the memory's
// users. Views may share memory; writing an element that another call of the kernel uses is undefined.

template <class T, int ndim, ViewOptions options>
[[nodiscard]] auto read(ArrayView<T, ndim, options> const& view) {
  using Element = std::remove_const_t<T>;
  using Access = detail::ViewAccess<Element, ndim, detail::AccessMode::read, includes(options, c_order)>;
  return Access{view.core()};
}
template <class T, int ndim, ViewOptions options>
[[nodiscard]] auto write(ArrayView<T, ndim, options> const& view) {
  return detail::ViewAccess<T, ndim, detail::AccessMode::write, includes(options, c_order)>{view.core()};
}
template <class T, int ndim, ViewOptions options>
[[nodiscard]] auto overwrite(ArrayView<T, ndim, options> const& view) {
  return detail::ViewAccess<T, ndim, detail::AccessMode::overwrite, includes(options, c_order)>{view.core()};
}
template <class T, int ndim, ViewOptions options>
[[nodiscard]] auto update(ArrayView<T, ndim, options> const& view) {
  return detail::ViewAccess<T, ndim, detail::AccessMode::update, includes(options, c_order)>{view.core()};
}

// Untyped views: `read<float, 2>(view)`. Throw like the constructor of `ArrayView`.

template <class T, int ndim, class Byte>
[[nodiscard]] auto read(BasicBufferView<Byte> const& view) {
  using Access = detail::ViewAccess<T, ndim, detail::AccessMode::read, false>;
  return Access{detail::typed_core<T, ndim>(view.core(), false)};
}
template <class T, int ndim>
[[nodiscard]] auto write(BufferView const& view) {
  using Access = detail::ViewAccess<T, ndim, detail::AccessMode::write, false>;
  return Access{detail::typed_core<T, ndim>(view.core(), true)};
}
template <class T, int ndim>
[[nodiscard]] auto overwrite(BufferView const& view) {
  using Access = detail::ViewAccess<T, ndim, detail::AccessMode::overwrite, false>;
  return Access{detail::typed_core<T, ndim>(view.core(), true)};
}
template <class T, int ndim>
[[nodiscard]] auto update(BufferView const& view) {
  using Access = detail::ViewAccess<T, ndim, detail::AccessMode::update, false>;
  return Access{detail::typed_core<T, ndim>(view.core(), true)};
}

/// The argument of a kernel for an array that it writes.
template <class T, int ndim>
using Indexer = ArrayIndexer<T, ndim>;
/// The argument of a kernel for an array that it reads.
template <class T, int ndim>
using ConstIndexer = ArrayIndexer<T const, ndim>;

/// Lists all members of a bundle: arrays that kernels use by name, in a template over their type.
///
///     template <template <class, int> class Array>
///     struct Nodes {
///       Array<double, 1> x, v;
///       MEMARRAY_BUNDLE(x, v)
///     };
///
/// `Nodes<MemArray>` has the arrays. For `write(nodes)` a kernel gets a `Nodes<Indexer>`, for `read(nodes)` a
/// `Nodes<ConstIndexer>`.
#define MEMARRAY_BUNDLE(...)                       \
  auto members() { return std::tie(__VA_ARGS__); } \
  auto members() const { return std::tie(__VA_ARGS__); }

/// Names all arrays of a bundle.
template <template <template <class, int> class> class B>
[[nodiscard]] auto read(B<MemArray> const& arrays) {
  return detail::BundleAccess<B, detail::AccessMode::read>{&arrays};
}
template <template <template <class, int> class> class B>
[[nodiscard]] auto write(B<MemArray>& arrays) {
  return detail::BundleAccess<B, detail::AccessMode::write>{&arrays};
}

#define MEMARRAY_DETAIL_DELETE_MISTAKES(use)                                       \
  template <class T, int ndim>                                                     \
  detail::ArrayIsConst use(MemArray<T, ndim> const&, std::int64_t = -1) = delete;  \
  template <class T, int ndim, ViewOptions options>                                \
  detail::ElementsAreConst use(ArrayView<T const, ndim, options> const&) = delete; \
  template <class T, int ndim>                                                     \
  detail::ElementsAreConst use(ConstBufferView const&) = delete;                   \
  template <class Byte>                                                            \
  detail::ElementTypeAndRankAreMissing use(BasicBufferView<Byte> const&) = delete;
MEMARRAY_DETAIL_DELETE_MISTAKES(write)
MEMARRAY_DETAIL_DELETE_MISTAKES(overwrite)
MEMARRAY_DETAIL_DELETE_MISTAKES(update)
#undef MEMARRAY_DETAIL_DELETE_MISTAKES
template <class Byte>
detail::ElementTypeAndRankAreMissing read(BasicBufferView<Byte> const&) = delete;
template <template <template <class, int> class> class B>
detail::ArrayIsConst write(B<MemArray> const&) = delete;
template <template <template <class, int> class> class B>
detail::BundlesAreOnlyReadOrWritten overwrite(B<MemArray> const&) = delete;
template <template <template <class, int> class> class B>
detail::BundlesAreOnlyReadOrWritten update(B<MemArray> const&) = delete;

}  // namespace memarray
