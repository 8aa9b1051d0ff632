#pragma once

// Kernels that change elements.

#include "kernel_memory.hpp"

#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/hold.hpp>
#include <memarray/kernel/operations.hpp>
#include <memarray/kernel/reduce.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace kernels {

template <class T, int ndim>
struct ChangeElement {
  bool sets;
  void operator()(LaunchIndices<ndim> const& i, T& element) const {
    T const number = number_of<T, ndim>(i);
    element = sets ? number : memarray::plus()(element, number);
  }
};
template <class T, int ndim>
struct ChangeByIndex {
  bool sets;
  template <class X>
    requires(!std::is_convertible_v<X, T>)
  void operator()(LaunchIndices<ndim> const& i, X const& x) const {
    ChangeElement<T, ndim>{sets}(i, x[i]);
  }
};

template <class T, int ndim>
struct ChangeFirst {
  void operator()(T& element, LaunchIndices<ndim> const& i) const { ChangeElement<T, ndim>{false}(i, element); }
};
/// Calls a kernel that takes the element before its indices.
template <class T, int ndim>
void change_first(MemArray<T, ndim> const& held, std::string const&, Where const& where) {
  auto array = MemArray<T, ndim>::share(held.state_ptr());
  memarray::for_each_index(array, on(where), ChangeFirst<T, ndim>(), where.lock_id);
}
template <class T, int ndim>
void change_first(BufferView const& view, std::string const& access, Where const& where) {
  if (access == "element first") return memarray::for_each_index<T, ndim>(view, on(where), ChangeFirst<T, ndim>());
  if (view.core().on_device())
    memarray::for_each_index(view.as<T, ndim, memarray::on_device>(), on(where), ChangeFirst<T, ndim>());
  else
    memarray::for_each_index(view.as<T, ndim>(), on(where), ChangeFirst<T, ndim>());
}

template <class T, int ndim>
void change(py::handle memory, std::string const& access, Where const& where) {
  // "update, by index" gives an indexer; "element first, typed" takes an `ArrayView`.
  bool const by_element = access == "update";
  std::string const name = access.substr(0, access.find(','));
  bool const sets = name == "overwrite";
  with_memory<T, ndim>(memory, [&](auto const& held) {
    if (name == "element first") {
      if (where.begin) throw std::invalid_argument("this form has no range");
      return change_first<T, ndim>(held, access, where);
    }
    over<ndim>(where, [&](auto const& box) {
      with_access<T, ndim>(name, where.lock_id, held, [&](auto const& named) {
        if constexpr (std::remove_cvref_t<decltype(named)>::kind == memarray::detail::AccessMode::update) {
          if (by_element) return memarray::for_each_index(box, on(where), ChangeElement<T, ndim>{sets}, named);
        }
        memarray::for_each_index(box, on(where), ChangeByIndex<T, ndim>{sets}, named);
      });
    });
  });
}

template <class T, int ndim>
struct SetRow {
  template <class X>
  void operator()(LaunchIndices<ndim - 1> const& row, X const& x) const {
    LaunchIndices<ndim> i{};
    using IndexT = typename LaunchIndices<ndim>::value_type;
    for (std::size_t d = 0; d < row.size(); ++d) i[d] = static_cast<IndexT>(row[d]);
    for (IndexT& last = i.back(); last < x.shape().back(); ++last) x[i] = number_of<T, ndim>(i);
  }
};
template <class T, int ndim>
void overwrite_rows(py::handle memory, Where const& where) {
  with_memory<T, ndim>(memory, [&](auto const& held) {
    over<ndim - 1>(where, [&](auto const& box) {
      with_access<T, ndim>("overwrite", where.lock_id, held, [&](auto const& named) {
        using Named = std::remove_cvref_t<decltype(named)>;
        if constexpr (Named::kind == memarray::detail::AccessMode::overwrite)
          memarray::for_each_index(box, on(where), SetRow<T, ndim>(), named);
      });
    });
  });
}

template <class T, int ndim>
struct AddFirst {
  template <class X>
  void operator()(LaunchIndices<ndim> const& i, X const& from, T& to) const {
    to = memarray::plus()(to, from[i]);
  }
};
template <class T, int ndim>
struct TakeSecond {
  template <class X>
  [[nodiscard]] T operator()(LaunchIndices<ndim> const&, X const&, T const& to) const {
    return to;
  }
};
template <class T, int ndim>
std::optional<py::bytes> hold(py::handle source, py::handle target, int launches, Where const& where,
                              py::handle result) {
  auto const from = array_of<T, ndim>(source);
  auto to = array_of<T, ndim>(target);
  T total{};
  {
    auto held = memarray::hold(on(where), memarray::read(from), memarray::update(to, where.lock_id));
    over<ndim>(where, [&](auto const& box) {
      for (int n = 0; n < launches; ++n) held.for_each_index(box, AddFirst<T, ndim>());
      if (result.is_none()) {
        total = held.transform_reduce(box, T(), memarray::plus(), TakeSecond<T, ndim>());
      } else {
        auto into = array_of<T, 1>(result);
        held.transform_reduce_into(into, box, T(), memarray::plus(), TakeSecond<T, ndim>());
      }
    });
  }
  if (!result.is_none()) return {};
  return to_bytes(total);
}

template <class T, int ndim>
struct BundleOf {
  template <template <class, int> class Array>
  struct Pair {
    Array<T, ndim> first, second;
    MEMARRAY_BUNDLE(first, second)
  };
};
/// Exchanges the elements of a pair, and adds the first to the second.
template <class T, int ndim>
struct ChangePair {
  void operator()(LaunchIndices<ndim> const& i,
                  typename BundleOf<T, ndim>::template Pair<memarray::Indexer> const& pair) const {
    T const sum = memarray::plus()(pair.first[i], pair.second[i]);
    pair.first[i] = pair.second[i];
    pair.second[i] = sum;
  }
};
template <class T, int ndim>
struct ReadPair {
  [[nodiscard]] T operator()(LaunchIndices<ndim> const& i,
                             typename BundleOf<T, ndim>::template Pair<memarray::ConstIndexer> const& pair) const {
    return pair.second[i];
  }
};
template <class T, int ndim>
py::bytes bundle(py::handle first, py::handle second, Where const& where) {
  typename BundleOf<T, ndim>::template Pair<MemArray> pair{array_of<T, ndim>(first), array_of<T, ndim>(second)};
  T total{};
  over<ndim>(where, [&](auto const& box) {
    memarray::for_each_index(box, on(where), ChangePair<T, ndim>(), memarray::write(pair));
    total = memarray::transform_reduce(box, on(where), T(), memarray::plus(), ReadPair<T, ndim>(),
                                       memarray::read(std::as_const(pair)));
  });
  return to_bytes(total);
}

}  // namespace kernels
