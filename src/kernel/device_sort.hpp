#pragma once

#include "launch/key_order.hpp"
#include "strided/device_strided.hpp"

#include <memarray/base/config.hpp>
#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/launch/key_sort.hpp>

#include <cstddef>
#include <cstdint>

// A sort by key on a device: `run(ThreadIndex)` takes a thread's share. It also compiles for host tests.
namespace memarray::detail {

/// A kernel that writes the order and the position of each key.
template <class U, class Position>
struct DevicePairs {
  std::byte const* keys;
  KeyKind kind;
  std::int64_t size;
  U* orders;
  Position* positions;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    for_share(place, size, [&](std::int64_t i) {
      orders[i] = order_of(load_bits<U>(keys, i), kind);
      positions[i] = static_cast<Position>(i);
    });
  }
};

/// A kernel that copies elements in the order of `positions`. Adjacent threads write adjacent words.
template <std::size_t bytes, class Position>
struct DeviceGather {
  static constexpr std::size_t word = bytes;  ///< divides addresses and element size

  std::byte const* from;
  std::byte* to;
  std::int64_t words;  ///< of an element
  std::int64_t count;  ///< words of all elements
  Position const* positions;

  MEMARRAY_HD void run(ThreadIndex const& place) const {
    auto const* const source = reinterpret_cast<Word<bytes> const*>(from);
    auto* const target = reinterpret_cast<Word<bytes>*>(to);
    for_share(place, count, [&](std::int64_t i) {
      auto const element = static_cast<std::int64_t>(positions[i / words]);
      target[i] = source[element * words + i % words];
    });
  }
};

/// A sort run as kernels on a `Machine`, which has, in stream order:
///   launch(kernel, size)      runs `kernel` for `size` positions
///   scratch(bytes)            device memory (`std::byte*`) until the sort is done
///   copy(to, from, bytes)     copies device memory
///   sort_pairs(orders, sorted, positions, order, size)   sorts positions stably by `orders`, into `order`
template <class Machine>
class DeviceSort {
 public:
  DeviceSort(KeySort const& sort, Machine& machine) : _sort(sort), _machine(machine) {}

  void run() {
    if (_sort.size <= UINT32_MAX)
      run_with<std::uint32_t>();
    else
      run_with<std::uint64_t>();
  }

  /// Precondition: `Position` holds the number of keys.
  template <class Position>
  void run_with() {
    if (_sort.size == 0) return;
    switch (_sort.key_bytes) {
      case 1: return sort_as<std::uint8_t, Position>();
      case 2: return sort_as<std::uint16_t, Position>();
      case 4: return sort_as<std::uint32_t, Position>();
      default: return sort_as<std::uint64_t, Position>();
    }
  }

 private:
  template <class T>
  T* scratch_of() {
    return reinterpret_cast<T*>(_machine.scratch(static_cast<std::size_t>(_sort.size) * sizeof(T)));
  }

  template <class U, class Position>
  void sort_as() {
    auto* const orders = scratch_of<U>();
    auto* const sorted = scratch_of<U>();
    auto* const positions = scratch_of<Position>();
    auto* const order = scratch_of<Position>();
    // All scratch memory precedes the first write: without it, keys and values stay as they are.
    std::byte* const values = apart(_sort.values, _sort.sorted_values, _sort.value_bytes);
    std::byte* const keys = apart(_sort.keys, _sort.sorted_keys, _sort.key_bytes);
    _machine.launch(DevicePairs<U, Position>{_sort.keys, _sort.kind, _sort.size, orders, positions}, _sort.size);
    _machine.sort_pairs(orders, sorted, positions, order, _sort.size);
    gather(_sort.values, values, _sort.sorted_values, _sort.value_bytes, order);
    gather(_sort.keys, keys, _sort.sorted_keys, _sort.key_bytes, order);
  }

  /// Returns where `gather` writes: `to`, or scratch memory if that is what it reads.
  std::byte* apart(std::byte const* from, std::byte* to, std::size_t bytes) {
    return from == to && bytes != 0 ? _machine.scratch(static_cast<std::size_t>(_sort.size) * bytes) : to;
  }

  template <class Position>
  void gather(std::byte const* from, std::byte* target, std::byte* to, std::size_t bytes, Position const* order) {
    if (bytes == 0) return;
    auto const alignment = reinterpret_cast<std::uintptr_t>(from) | reinterpret_cast<std::uintptr_t>(target) | bytes;
    if (alignment % 4 == 0)
      gather_words<4>(from, target, bytes, order);
    else
      gather_words<1>(from, target, bytes, order);
    if (target != to) _machine.copy(to, target, static_cast<std::size_t>(_sort.size) * bytes);
  }

  template <std::size_t word, class Position>
  void gather_words(std::byte const* from, std::byte* target, std::size_t bytes, Position const* order) {
    auto const words = static_cast<std::int64_t>(bytes / word);
    std::int64_t const count = _sort.size * words;
    _machine.launch(DeviceGather<word, Position>{from, target, words, count, order}, count);
  }

  KeySort const& _sort;
  Machine& _machine;
};

}  // namespace memarray::detail
