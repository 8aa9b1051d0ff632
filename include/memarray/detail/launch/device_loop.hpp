#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/launch/kernel_argument.hpp>
#include <memarray/detail/launch/launch_plan.hpp>
#include <memarray/detail/launch/unravel.hpp>

#include <cuda/std/array>
#include <cuda/std/tuple>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace memarray::detail {

/// Bytes that one load or store of a device moves at most.
inline constexpr std::size_t vector_bytes = 16;

/// The number of elements in a vector, equal for all arrays: the largest element type fills `vector_bytes`. 0 unless
/// all arguments are `ElementArgument`s whose element size divides `vector_bytes`.
template <class... Arguments>
struct VectorWidth {
  static constexpr int value = 0;
};
template <class... T, bool... in_place>
struct VectorWidth<ElementArgument<T, in_place>...> {
  static constexpr bool fits = ((std::has_single_bit(sizeof(T)) && sizeof(T) <= vector_bytes) && ...);
  static constexpr std::size_t largest = [] {
    std::size_t most = 1;
    ((most = sizeof(T) > most ? sizeof(T) : most), ...);
    return most;
  }();
  static constexpr int value = fits ? static_cast<int>(vector_bytes / largest) : 0;
};

/// The bytes of one load or store, which may alias elements of any type.
template <std::size_t bytes>
struct __attribute__((may_alias)) Word {
  using Part =
      std::conditional_t<bytes >= 4, std::uint32_t, std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>;
  alignas(bytes) Part parts[bytes / sizeof(Part)];
};

/// Adjacent elements in registers.
template <class T, int width>
struct Vector {
  using Bits = Word<sizeof(T) * static_cast<std::size_t>(width)>;

  Bits bits;

  MEMARRAY_HD void load(T const* source) { bits = *reinterpret_cast<Bits const*>(source); }
  MEMARRAY_HD void store(T* target) const { *reinterpret_cast<Bits*>(target) = bits; }
  MEMARRAY_HD T& element(int e) { return reinterpret_cast<T*>(&bits)[e]; }
};

/// The position of a thread in its grid.
struct ThreadIndex {
  unsigned block;
  unsigned thread;
  unsigned blocks;
  unsigned threads;
};

/// A kernel that calls `f(indices, a, b, …)` for a thread's share of the elements. It compiles for the host too, where
/// tests run it for each thread of a grid.
///
/// IndexT: the type of the indices that `f` gets. U: the unsigned type of positions in linear order. It has 32
/// bits only for sizes below 2^31, so that a position plus a step does not overflow.
template <class IndexT, class U, int ndim, class F, class... Arguments>
struct DeviceLoop {
  static constexpr int width = VectorWidth<Arguments...>::value;

  U size;
  U vectors;  ///< number of whole vectors, which come first; 0 unless `is_aligned()`
  Unravel<U, ndim> unravel;
  F f;
  cuda::std::tuple<Arguments...> arguments;

  /// True if all arrays are aligned for vector loads and stores.
  [[nodiscard]] bool is_aligned() const {
    if constexpr (width == 0)
      return false;
    else
      return cuda::std::apply([](auto const&... argument) { return (lies_well(argument) && ...); }, arguments);
  }

  MEMARRAY_HD void run(ThreadIndex const& place) {
    if constexpr (width > 0) run_vectors(place, std::index_sequence_for<Arguments...>());
    U const step = static_cast<U>(place.blocks) * place.threads;
    U const first = static_cast<U>(place.block) * place.threads + place.thread;
    for (U linear = vectors * static_cast<U>(width) + first; linear < size; linear += step)
      cuda::std::apply(
          [&](Arguments const&... argument) { call(unravel.template at<IndexT>(linear), argument.open(linear)...); },
          arguments);
  }

 private:
  using Indices = IndexArray<IndexT, ndim>;

  template <class T, bool in_place>
  static bool lies_well(ElementArgument<T, in_place> const& argument) {
    auto const fits = [](void const* place) {
      return reinterpret_cast<std::uintptr_t>(place) % (sizeof(T) * static_cast<std::size_t>(width)) == 0;
    };
    return fits(argument.source) && fits(argument.target);
  }

  template <class... Opened>
  MEMARRAY_HD void call(Indices const& indices, Opened... opened) {
    f(indices, opened.argument()...);
    (opened.close(), ...);
  }

  /// Calls `f` for a thread's share of the vectors. Adjacent threads of a block take adjacent vectors, so that the
  /// memory accesses of a warp coalesce.
  template <std::size_t... a>
  MEMARRAY_HD void run_vectors(ThreadIndex const& place, std::index_sequence<a...>) {
    using Loaded = cuda::std::tuple<Vector<typename Arguments::Element, width>...>;
    U const tile = static_cast<U>(place.threads) * vectors_together;
    U const step = tile * place.blocks;
    for (U first = tile * place.block + place.thread; first < vectors; first += step) {
      Loaded loaded[vectors_together];
      MEMARRAY_UNROLL
      for (int k = 0; k < vectors_together; ++k) {
        U const vector = first + static_cast<U>(k) * place.threads;
        if (vector < vectors)
          (cuda::std::get<a>(loaded[k]).load(cuda::std::get<a>(arguments).source + vector * static_cast<U>(width)),
           ...);
      }
      MEMARRAY_UNROLL
      for (int k = 0; k < vectors_together; ++k) {
        U const vector = first + static_cast<U>(k) * place.threads;
        if (vector >= vectors) continue;
        U const linear = vector * static_cast<U>(width);
        visit(linear, cuda::std::get<a>(loaded[k])...);
        (cuda::std::get<a>(loaded[k]).store(cuda::std::get<a>(arguments).target + linear), ...);
      }
    }
  }

  /// Calls `f` for each element of the vectors at position `linear`.
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

}  // namespace memarray::detail
