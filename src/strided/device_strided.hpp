#pragma once

#include "device_number.hpp"

#include <memarray/base/config.hpp>
#include <memarray/detail/base/add_wrapping.hpp>
#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/launch/unravel.hpp>
#include <memarray/detail/strided/loop_nest.hpp>
#include <memarray/detail/strided/strided_job.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Kernels on strided device memory: `run(ThreadIndex)` takes a thread's share. They also compile for host tests.
namespace memarray::detail {

/// The loops of a nest, outermost first, indexed by a linear position.
template <class U>
class DeviceNest {
 public:
  static constexpr int max_loops = LoopNest::max_loops;

  /// Adds an inner loop, or merges it into the last. Precondition: `extent` is not 0.
  void add(std::int64_t extent, std::int64_t first, std::int64_t second) {
    if (extent == 1) return;
    if (_count > 0 && _strides[0][_count - 1] == first * extent && _strides[1][_count - 1] == second * extent) {
      _size *= extent;
      _extents[_count - 1] *= static_cast<U>(extent);
      _strides[0][_count - 1] = first;
      _strides[1][_count - 1] = second;
      _divisors[_count - 1] = Divisor<U>(_extents[_count - 1]);
      return;
    }
    _size *= extent;
    _extents[_count] = static_cast<U>(extent);
    _divisors[_count] = Divisor<U>(_extents[_count]);
    _strides[0][_count] = first;
    _strides[1][_count] = second;
    ++_count;
  }
  [[nodiscard]] std::int64_t size() const { return _size; }

  /// True if every `width` positions are adjacent elements at a multiple of their size, with second offsets one apart.
  [[nodiscard]] bool has_vectors(int width, std::size_t itemsize) const {
    if (_count == 0 || width == 1) return false;
    int const inner = _count - 1;
    auto const bytes = static_cast<std::int64_t>(itemsize);
    bool const are_adjacent = _strides[0][inner] == bytes && _strides[1][inner] == 1;
    return are_adjacent && _extents[inner] % static_cast<U>(width) == 0 &&
           std::all_of(_strides[0], _strides[0] + inner,
                       [&](std::int64_t stride) { return stride % (width * bytes) == 0; });
  }

  struct Offsets {
    std::int64_t first = 0;
    std::int64_t second = 0;
  };
  /// Returns each operand's offset in bytes.
  [[nodiscard]] MEMARRAY_HD Offsets at(U position) const {
    Offsets offsets;
    for (int d = _count - 1; d >= 0; --d) {
      U const rest = d == 0 ? 0 : _divisors[d].quotient(position);
      auto const index = static_cast<std::int64_t>(position - rest * _extents[d]);
      offsets.first += index * _strides[0][d];
      offsets.second += index * _strides[1][d];
      position = rest;
    }
    return offsets;
  }

 private:
  int _count = 0;
  std::int64_t _size = 1;
  U _extents[max_loops] = {};
  Divisor<U> _divisors[max_loops] = {};
  std::int64_t _strides[2][max_loops] = {};
};

template <class U>
DeviceNest<U> device_nest(LoopNest const& nest) {
  DeviceNest<U> result;
  for (LoopNest::Loop const& loop : nest.all()) result.add(loop.extent, loop.strides[0], loop.strides[1]);
  return result;
}

/// Calls `step(position)` for a thread's share of `size` positions.
template <class U, class Step>
MEMARRAY_HD void for_share(ThreadIndex const& place, U size, Step const& step) {
  U const stride = static_cast<U>(place.blocks) * place.threads;
  for (U position = static_cast<U>(place.block) * place.threads + place.thread; position < size; position += stride)
    step(position);
}

template <class Word>
MEMARRAY_HD void move_words(std::byte* to, std::byte const* from, std::uint32_t bytes) {
  for (std::uint32_t at = 0; at < bytes; at += sizeof(Word)) store_as(to + at, load_as<Word>(from + at));
}
/// Copies an element. `word`: a power of two, at most 16, that divides addresses and size.
MEMARRAY_HD inline void move_element(std::byte* to, std::byte const* from, std::uint32_t bytes, std::uint32_t word) {
  if (word == 16) return move_words<Word<16>>(to, from, bytes);
  if (word == 8) return move_words<std::uint64_t>(to, from, bytes);
  if (word == 4) return move_words<std::uint32_t>(to, from, bytes);
  if (word == 2) return move_words<std::uint16_t>(to, from, bytes);
  move_words<std::uint8_t>(to, from, bytes);
}

template <class U>
struct DeviceCopy {
  DeviceNest<U> nest;
  U size;
  std::byte* target;
  std::byte const* source;
  std::uint32_t itemsize;
  std::uint32_t word;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, size, [&](U position) {
      auto const offsets = nest.at(position);
      move_element(target + offsets.first, source + offsets.second, itemsize, word);
    });
  }
};

/// A fill whose element is a kernel parameter.
template <class U>
struct DeviceFill {
  static constexpr std::size_t most_bytes = 16;

  DeviceNest<U> nest;
  U size;
  std::byte* target;
  std::uint32_t itemsize;
  std::uint32_t word;
  alignas(16) std::byte element[most_bytes];

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, size,
              [&](U position) { move_element(target + nest.at(position).first, element, itemsize, word); });
  }
};

template <class U>
struct DeviceCast {
  DeviceNest<U> nest;
  U size;
  std::byte* target;
  std::byte const* source;
  ElementKind to;
  ElementKind from;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, size, [&](U position) {
      auto const offsets = nest.at(position);
      store_number(to, target + offsets.first, from, load_number(from, source + offsets.second));
    });
  }
};

/// Adds an index sum to an element in memory.
template <class T>
MEMARRAY_HD void add_sum(std::byte* to, std::byte const* from, std::int64_t sum) {
  if constexpr (std::is_same_v<T, bool>) {
    store_as(to, static_cast<std::uint8_t>(load_as<std::uint8_t>(from) != 0 || sum != 0 ? 1 : 0));
  } else if constexpr (requires(T const& number) { number.imag(); }) {
    using Part = typename T::value_type;
    store_as(to, load_as<Part>(from) + static_cast<Part>(sum));
    // Like a complex addition, turns −0.0 into 0.0.
    store_as(to + sizeof(Part), load_as<Part>(from + sizeof(Part)) + Part(0));
  } else {
    store_as(to, add_wrapping(load_as<T>(from), static_cast<T>(sum)));
  }
}

/// target = source + index sum, which is `start` plus the nest's second offset.
template <class T, class U>
struct DeviceAddIndex {
  static constexpr int width = static_cast<int>(vector_bytes / sizeof(T));

  DeviceNest<U> nest;
  U size;
  std::byte const* source;
  std::byte* target;
  std::int64_t start;
  bool in_vectors = false;  ///< a thread takes `width` adjacent elements at a time

  [[nodiscard]] bool can_use_vectors() const {
    auto const addresses = reinterpret_cast<std::uintptr_t>(source) | reinterpret_cast<std::uintptr_t>(target);
    return addresses % vector_bytes == 0 && nest.has_vectors(width, sizeof(T));
  }
  MEMARRAY_HD void run(ThreadIndex const& place) const {
    if (in_vectors)
      return for_share(place, static_cast<U>(size / width), [&](U vector) { run_vector(vector * width); });
    for_share(place, size, [&](U position) {
      auto const offsets = nest.at(position);
      add_sum<T>(target + offsets.first, source + offsets.first, start + offsets.second);
    });
  }

 private:
  MEMARRAY_HD void run_vector(U position) const {
    auto const offsets = nest.at(position);
    auto words = load_as<Word<vector_bytes>>(source + offsets.first);
    auto* const bytes = reinterpret_cast<std::byte*>(&words);
    for (int e = 0; e < width; ++e)
      add_sum<T>(bytes + e * sizeof(T), bytes + e * sizeof(T), start + offsets.second + e);
    store_as(target + offsets.first, words);
  }
};

/// Accumulators in memory: 8 bytes each, 16 if complex.
struct DeviceParts {
  std::uint64_t* words = nullptr;
  bool integral = false;
  bool complex = false;

  [[nodiscard]] MEMARRAY_HD Number load(std::uint64_t at) const {
    Number number;
    if (integral) {
      number.bits = words[at];
    } else if (complex) {
      number.real = load_as<double>(reinterpret_cast<std::byte const*>(words + 2 * at));
      number.imag = load_as<double>(reinterpret_cast<std::byte const*>(words + 2 * at + 1));
    } else {
      number.real = load_as<double>(reinterpret_cast<std::byte const*>(words + at));
    }
    return number;
  }
  MEMARRAY_HD void store(std::uint64_t at, Number const& number) const {
    if (integral) {
      words[at] = number.bits;
    } else if (complex) {
      store_as(reinterpret_cast<std::byte*>(words + 2 * at), number.real);
      store_as(reinterpret_cast<std::byte*>(words + 2 * at + 1), number.imag);
    } else {
      store_as(reinterpret_cast<std::byte*>(words + at), number.real);
    }
  }
};

struct DeviceReduction {
  Reduction reduction;
  ElementKind kind;
  bool in_double;      ///< add integers as doubles, for a mean
  std::int64_t terms;  ///< elements of a result
  std::int64_t repeat;

  [[nodiscard]] std::size_t part_bytes() const { return kind.code == kDLComplex ? 16 : 8; }
  [[nodiscard]] DeviceParts parts_at(std::byte* memory) const {
    return {reinterpret_cast<std::uint64_t*>(memory), kind.is_integral() && !in_double, kind.code == kDLComplex};
  }
  MEMARRAY_HD void add(Number& total, Number const& number) const {
    if (reduction == Reduction::sum || reduction == Reduction::mean) {
      total.bits += number.bits;
      total.real += number.real;
      total.imag += number.imag;
    } else if (is_better(number, total)) {
      total = number;
    }
  }
  /// Folds every `step`th term of a result from `first` on. Precondition: `first` < `count`.
  template <class U>
  [[nodiscard]] MEMARRAY_HD Number fold(std::byte const* from, DeviceNest<U> const& reduced, U first, U count,
                                        U step) const {
    Number total = load(from + reduced.at(first).first);
    for (U term = first + step; term < count; term += step) add(total, load(from + reduced.at(term).first));
    return total;
  }
  [[nodiscard]] MEMARRAY_HD Number load(std::byte const* element) const {
    Number number = load_number(kind, element);
    if (!in_double || !kind.is_integral()) return number;
    auto const as_signed = static_cast<std::int64_t>(number.bits);
    number.real = kind.code == kDLUInt ? static_cast<double>(number.bits) : static_cast<double>(as_signed);
    return number;
  }
  MEMARRAY_HD void finish(ElementKind to, std::byte* target, Number number) const {
    ElementKind from = kind;
    if (reduction == Reduction::mean) {
      if (in_double) from = {kDLFloat, 8};
      auto const count = static_cast<double>(terms);
      number.real /= count;
      number.imag /= count;
    } else if (reduction == Reduction::sum) {
      if (repeat != 1) {
        number.real *= static_cast<double>(repeat);
        number.imag *= static_cast<double>(repeat);
      }
      number.bits *= static_cast<std::uint64_t>(repeat);
    }
    store_number(to, target, from, number);
  }

 private:
  [[nodiscard]] MEMARRAY_HD static bool is_nan(Number const& number) {
    return detail::is_nan(number.real) || detail::is_nan(number.imag);
  }
  /// The first NaN wins; complex numbers compare by real parts first.
  [[nodiscard]] MEMARRAY_HD bool is_better(Number const& number, Number const& than) const {
    bool const least = reduction == Reduction::min;
    if (kind.is_integral()) {
      if (kind.code == kDLInt) {
        auto const left = static_cast<std::int64_t>(number.bits);
        auto const right = static_cast<std::int64_t>(than.bits);
        return least ? left < right : left > right;
      }
      return least ? number.bits < than.bits : number.bits > than.bits;
    }
    if (is_nan(than)) return false;
    if (is_nan(number)) return true;
    if (number.real < than.real) return least;
    if (number.real > than.real) return !least;
    return least ? number.imag < than.imag : number.imag > than.imag;
  }
};

/// A reduction whose threads compute whole results, adjacent threads adjacent ones.
template <class U>
struct DeviceReduceWhole {
  DeviceNest<U> kept;     ///< source, target
  DeviceNest<U> reduced;  ///< source
  U results;
  U terms;
  DeviceReduction how;
  ElementKind to;
  std::byte const* source;
  std::byte* target;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, results, [&](U result) {
      auto const offsets = kept.at(result);
      how.finish(to, target + offsets.second, how.fold<U>(source + offsets.first, reduced, 0, terms, 1));
    });
  }
};

/// Each thread folds every `parts`th element of a result; adjacent threads read adjacent elements. `parts` ≤ `terms`.
template <class U>
struct DeviceReduce {
  DeviceNest<U> kept;
  DeviceNest<U> reduced;
  U results;
  U terms;
  U parts;  ///< of each result
  DeviceReduction how;
  std::byte const* source;
  DeviceParts made;  ///< results × parts

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, results * parts, [&](U position) {
      U const result = position / parts;
      U const first = position - result * parts;
      made.store(position, how.fold<U>(source + kept.at(result).first, reduced, first, terms, parts));
    });
  }
};

template <class U>
struct DeviceFold {
  U results;
  U parts;
  U together;
  U groups;  ///< of each result
  DeviceReduction how;
  DeviceParts from;  ///< results × parts
  DeviceParts made;  ///< results × groups

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, results * groups, [&](U position) {
      U const result = position / groups;
      U const begin = (position - result * groups) * together;
      U const end = begin + together < parts ? begin + together : parts;
      Number total = from.load(result * parts + begin);
      for (U at = begin + 1; at < end; ++at) how.add(total, from.load(result * parts + at));
      made.store(position, total);
    });
  }
};

template <class U>
struct DeviceFinish {
  DeviceNest<U> kept;
  U results;
  DeviceReduction how;
  ElementKind to;
  std::byte* target;
  DeviceParts from;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, results, [&](U result) { how.finish(to, target + kept.at(result).second, from.load(result)); });
  }
};

}  // namespace memarray::detail
