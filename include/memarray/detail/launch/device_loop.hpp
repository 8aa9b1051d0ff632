#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/launch/host_loop.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>
#include <memarray/detail/launch/launch_plan.hpp>
#include <memarray/detail/launch/unravel.hpp>

#include <memarray/detail/launch/pack.hpp>

#include <cuda/std/array>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray::detail {

/// Bytes of the widest load or store.
inline constexpr std::size_t vector_bytes = 16;

/// Elements in a vector, equal for all arrays; 0 unless all are `ElementArgument`s whose sizes divide `vector_bytes`.
template <class... Arguments>
struct VectorWidth {
  static constexpr int value = 0;
};
template <int ndim, class... T>
struct VectorWidth<ElementArgument<T, ndim>...> {
  static constexpr bool fits = ((std::has_single_bit(sizeof(T)) && sizeof(T) <= vector_bytes) && ...);
  static constexpr std::size_t largest = [] {
    std::size_t most = 1;
    ((most = sizeof(T) > most ? sizeof(T) : most), ...);
    return most;
  }();
  static constexpr int value = fits ? static_cast<int>(vector_bytes / largest) : 0;
};

/// Raw bytes, which may alias any type.
template <std::size_t bytes>
struct __attribute__((may_alias)) Word {
  using Part =
      std::conditional_t<bytes >= 4, std::uint32_t, std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>;
  alignas(bytes) Part parts[bytes / sizeof(Part)];
};

template <class T, int width>
struct Vector {
  using Bits = Word<sizeof(T) * static_cast<std::size_t>(width)>;

  Bits bits;

  MEMARRAY_HD void load(T const* source) { bits = *reinterpret_cast<Bits const*>(source); }
  MEMARRAY_HD void store(T* target) const { *reinterpret_cast<Bits*>(target) = bits; }
  MEMARRAY_HD T& element(int e) { return reinterpret_cast<T*>(&bits)[e]; }
};

struct ThreadIndex {
  unsigned block;
  unsigned thread;
  unsigned blocks;
  unsigned threads;
};

/// A kernel that calls `f(indices, a, b, …)` for a thread's elements. Tests run it on the host.
///
/// U, the type of linear positions, has 32 bits only below 2^31 elements, so adding a step cannot overflow.
template <class IndexT, class U, int ndim, class F, class... Arguments>
struct DeviceLoop {
  static constexpr int width = VectorWidth<Arguments...>::value;

  U size;
  U vectors;  ///< whole vectors, which come first; 0 unless `is_aligned()`
  Unravel<U, ndim> unravel;
  IndexArray<IndexT, ndim> begin;
  bool is_whole;  ///< a linear position is an element's offset
  F f;
  Pack<Arguments...> arguments;

  [[nodiscard]] bool is_aligned() const { return is_aligned(Sequence()); }

  MEMARRAY_HD void run(ThreadIndex const& place) {
    if constexpr (width > 0) run_vectors(place, Sequence());
    U const step = static_cast<U>(place.blocks) * place.threads;
    U const first = static_cast<U>(place.block) * place.threads + place.thread;
    for (U linear = vectors * static_cast<U>(width) + first; linear < size; linear += step) run_one(linear, Sequence());
  }

 private:
  using Indices = IndexArray<IndexT, ndim>;
  using Sequence = std::index_sequence_for<Arguments...>;

  template <std::size_t... a>
  [[nodiscard]] bool is_aligned(std::index_sequence<a...>) const {
    if constexpr (width == 0)
      return false;
    else
      return is_whole && (lies_well(get<a>(arguments)) && ...);
  }

  template <class T>
  static bool lies_well(ElementArgument<T, ndim> const& argument) {
    auto const fits = [](void const* place) {
      return reinterpret_cast<std::uintptr_t>(place) % (sizeof(T) * static_cast<std::size_t>(width)) == 0;
    };
    return fits(argument.source) && fits(argument.target);
  }

  template <std::size_t... a>
  MEMARRAY_HD void run_one(U linear, std::index_sequence<a...>) {
    Indices indices = unravel.template at<IndexT>(linear);
    for (std::size_t d = 0; d < indices.size(); ++d) indices[d] += begin[d];
    call(indices, get<a>(arguments).open(linear, indices, is_whole)...);
  }

  template <class... Opened>
  MEMARRAY_HD void call(Indices const& indices, Opened... opened) {
    f(indices, opened.argument()...);
    (opened.close(), ...);
  }

  /// Adjacent threads take adjacent vectors, so a warp's accesses coalesce.
  template <std::size_t... a>
  MEMARRAY_HD void run_vectors(ThreadIndex const& place, std::index_sequence<a...>) {
    U const step = static_cast<U>(place.blocks) * place.threads;
    U const first = static_cast<U>(place.block) * place.threads + place.thread;
    for (U vector = first; vector < vectors; vector += step) {
      U const linear = vector * static_cast<U>(width);
      Pack<Vector<typename Arguments::Element, width>...> loaded;
      (get<a>(loaded).load(get<a>(arguments).source + linear), ...);
      visit(linear, get<a>(loaded)...);
      (get<a>(loaded).store(get<a>(arguments).target + linear), ...);
    }
  }

  template <class... Loaded>
  MEMARRAY_HD void visit(U linear, Loaded&... loaded) {
    bool const in_one_row = unravel.has_rows_of(width);
    Indices indices = unravel.template at<IndexT>(linear);
    MEMARRAY_UNROLL
    for (int e = 0; e < width; ++e) {
      f(indices, loaded.element(e)...);
      if (e + 1 == width) break;
      if (in_one_row)
        ++indices[ndim - 1];
      else
        indices = unravel.template at<IndexT>(linear + static_cast<U>(e) + 1);
    }
  }
};

/// Returns the loop over a kernel's box, without vectors. Requires a box of at least one index, below half of U's
/// range. `is_whole`: its `ElementArgument`s visit whole arrays.
template <class U, class IndexT, int ndim, class F, class... Arguments>
[[nodiscard]] auto device_loop(HostKernel<IndexT, ndim, F, Arguments...> const& kernel, bool is_whole) {
  return DeviceLoop<IndexT, U, ndim, F, Arguments...>{
      static_cast<U>(kernel.box.size()),
      0,
      Unravel<U, ndim>(to_indices<std::int64_t, ndim>(kernel.box.extents)),
      to_indices<IndexT, ndim>(kernel.box.begin),
      is_whole,
      kernel.f,
      kernel.arguments};
}

}  // namespace memarray::detail
