#include "base/loop_pool.hpp"
#include "launch/key_order.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/kernel/held_arrays.hpp>
#include <memarray/detail/launch/device_run.hpp>
#include <memarray/detail/launch/key_sort.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/kernel/sort_by_key.hpp>
#include <memarray/memory/default_resource.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

/// Fewer passes over many keys are worth a table of counts that just fits the first-level cache.
constexpr int few_bits = 8;
constexpr int most_bits = 11;
constexpr std::int64_t many_keys = 1 << 12;

/// Calls `work(piece, begin, end)`, each piece by a thread of its own.
template <class Work>
void for_pieces(std::int64_t size, std::int64_t pieces, Work const& work) {
  share_loop(static_cast<int>(pieces), pieces, [&](std::int64_t piece) {
    work(static_cast<std::size_t>(piece), begin_of_part(size, pieces, piece), begin_of_part(size, pieces, piece + 1));
  });
}

/// A deleter that returns memory to the pool, which keeps it for the next sort.
struct ToPool {
  std::size_t bytes = 0;
  void operator()(void* memory) const noexcept { host_resource().deallocate(default_stream(), memory, bytes); }
};
template <class T>
using PoolMemory = std::unique_ptr<T[], ToPool>;

/// Throws `OutOfMemoryError`. The memory is uninitialized.
template <class T>
[[nodiscard]] PoolMemory<T> allocate(std::int64_t size) {
  std::size_t const bytes = static_cast<std::size_t>(size) * sizeof(T);
  return PoolMemory<T>(static_cast<T*>(host_resource().allocate(default_stream(), bytes)), ToPool{bytes});
}

/// A stable sort of keys with their positions, from the lowest digit on: the bits in which keys differ are divided
/// evenly among as few digits as possible. Skips digits that all keys share.
template <class U, class Position>
class RadixSort {
 public:
  RadixSort(KeySort const& sort, std::int64_t pieces)
      : _size(sort.size),
        _pieces(pieces),
        _counts(std::make_unique_for_overwrite<Counts[]>(static_cast<std::size_t>(pieces))) {
    U const first = order_of(load_bits<U>(sort.keys, 0), sort.kind);
    std::vector<U> differing(static_cast<std::size_t>(pieces));
    for (Pairs& pairs : _pairs) pairs = {allocate<U>(_size), allocate<Position>(_size)};
    for_pieces(_size, _pieces, [&](std::size_t piece, std::int64_t begin, std::int64_t end) {
      // Copies, which stores cannot alias.
      KeyKind const kind = sort.kind;
      U const one = first;
      U* const keys = now().keys.get();
      Position* const positions = now().positions.get();
      U found = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        U const key = order_of(load_bits<U>(sort.keys, i), kind);
        keys[i] = key;
        positions[i] = static_cast<Position>(i);
        found = static_cast<U>(found | (key ^ one));
      }
      differing[piece] = found;
    });
    for (U const each : differing) _differing = static_cast<U>(_differing | each);
  }

  /// Returns the keys' positions in sorted order.
  [[nodiscard]] Position const* run() {
    auto const end = static_cast<int>(std::bit_width(_differing));
    int shift = std::countr_zero(_differing);
    int const most = _size < many_keys ? few_bits : most_bits;
    for (int left = end > shift ? (end - shift + most - 1) / most : 0; left > 0; --left) {
      int const bits = (end - shift + left - 1) / left;
      Digit const digit{shift, (std::size_t{1} << bits) - 1};
      shift += bits;
      if (digit.of(_differing) == 0) continue;
      count(digit);
      find_begins(digit);
      move(digit);
    }
    return now().positions.get();
  }

  /// Writes the sorted keys, which are integers.
  void write_keys(std::byte* target, KeyKind kind) {
    U const flipped = order_of(U{0}, kind);
    for_pieces(_size, _pieces, [this, target, flipped](std::size_t, std::int64_t begin, std::int64_t end) {
      U const* const keys = now().keys.get();
      for (std::int64_t i = begin; i < end; ++i) {
        auto const bits = static_cast<U>(keys[i] ^ flipped);
        std::memcpy(target + static_cast<std::size_t>(i) * sizeof(U), &bits, sizeof(U));
      }
    });
  }

 private:
  struct Pairs {
    PoolMemory<U> keys;
    PoolMemory<Position> positions;
  };

  [[nodiscard]] Pairs& now() noexcept { return _pairs[_now]; }

  /// The position of a digit in a key.
  struct Digit {
    int shift;
    std::size_t mask;
    [[nodiscard]] std::size_t of(U key) const noexcept { return static_cast<std::size_t>(key >> shift) & mask; }
    [[nodiscard]] std::size_t values() const noexcept { return mask + 1; }
  };
  using Counts = std::array<std::int64_t, std::size_t{1} << most_bits>;

  void count(Digit digit) {
    for_pieces(_size, _pieces, [this, digit](std::size_t piece, std::int64_t begin, std::int64_t end) {
      U const* const keys = now().keys.get();
      Counts found;
      std::fill_n(found.begin(), digit.values(), 0);
      for (std::int64_t i = begin; i < end; ++i) ++found[digit.of(keys[i])];
      std::copy_n(found.begin(), digit.values(), _counts[piece].begin());
    });
  }
  /// Turns counts into the place of each piece's first key of each digit.
  void find_begins(Digit digit) noexcept {
    std::int64_t before = 0;
    for (std::size_t value = 0; value < digit.values(); ++value)
      for (std::int64_t piece = 0; piece < _pieces; ++piece)
        before += std::exchange(_counts[static_cast<std::size_t>(piece)][value], before);
  }
  void move(Digit digit) {
    Pairs const& from = now();
    Pairs& to = _pairs[1 - _now];
    for_pieces(_size, _pieces, [&](std::size_t piece, std::int64_t begin, std::int64_t end) {
      U const* const keys = from.keys.get();
      Position const* const positions = from.positions.get();
      U* const to_keys = to.keys.get();
      Position* const to_positions = to.positions.get();
      Digit const own = digit;  // which stores cannot alias
      Counts next;
      std::copy_n(_counts[piece].begin(), own.values(), next.begin());
      for (std::int64_t i = begin; i < end; ++i) {
        U const key = keys[i];
        Position const position = positions[i];
        std::int64_t const place = next[own.of(key)]++;
        to_keys[place] = key;
        to_positions[place] = position;
      }
    });
    _now = 1 - _now;
  }

  std::int64_t _size;
  std::int64_t _pieces;
  std::array<Pairs, 2> _pairs;
  std::size_t _now = 0;
  U _differing = 0;                   // bits that differ between keys
  std::unique_ptr<Counts[]> _counts;  // of each piece
};

// A constant size becomes one load and one store.
template <std::size_t bytes, class Position>
void gather_of(std::byte const* from, std::byte* to, Position const* positions, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i)
    std::memcpy(to + static_cast<std::size_t>(i) * bytes, from + static_cast<std::size_t>(positions[i]) * bytes, bytes);
}

template <class Position>
void gather(std::byte const* from, std::byte* to, std::size_t bytes, Position const* positions, std::int64_t size,
            std::int64_t pieces) {
  for_pieces(size, pieces, [&](std::size_t, std::int64_t begin, std::int64_t end) {
    switch (bytes) {
      case 1: return gather_of<1>(from, to, positions, begin, end);
      case 2: return gather_of<2>(from, to, positions, begin, end);
      case 4: return gather_of<4>(from, to, positions, begin, end);
      case 8: return gather_of<8>(from, to, positions, begin, end);
      case 16: return gather_of<16>(from, to, positions, begin, end);
      case 24: return gather_of<24>(from, to, positions, begin, end);
      default: break;
    }
    for (std::int64_t i = begin; i < end; ++i)
      std::memcpy(to + static_cast<std::size_t>(i) * bytes, from + static_cast<std::size_t>(positions[i]) * bytes,
                  bytes);
  });
}

/// A reordering of elements, also in place. Allocates when made, so `run` cannot fail.
class Reorder {
 public:
  Reorder(std::byte const* from, std::byte* to, std::size_t bytes, std::int64_t size)
      : _from(from), _to(to), _bytes(bytes), _size(size) {
    if (from == to) _fresh = allocate<std::byte>(size * static_cast<std::int64_t>(bytes));
  }

  template <class Position>
  void run(Position const* positions, std::int64_t pieces) const {
    gather(_from, _fresh ? _fresh.get() : _to, _bytes, positions, _size, pieces);
    if (!_fresh) return;
    for_pieces(_size, pieces, [&](std::size_t, std::int64_t begin, std::int64_t end) {
      auto const first = static_cast<std::size_t>(begin) * _bytes;
      std::memcpy(_to + first, _fresh.get() + first, static_cast<std::size_t>(end - begin) * _bytes);
    });
  }

 private:
  std::byte const* _from;
  std::byte* _to;
  std::size_t _bytes;
  std::int64_t _size;
  PoolMemory<std::byte> _fresh;
};

template <class U, class Position>
void sort_as(KeySort const& sort, std::int64_t pieces) {
  // Floating-point numbers do not follow from their order: there are several NaN and zeros.
  bool const are_integers = sort.kind == KeyKind::unsigned_integer || sort.kind == KeyKind::signed_integer;
  std::optional<Reorder> keys;
  if (!are_integers) keys.emplace(sort.keys, sort.sorted_keys, sort.key_bytes, sort.size);
  Reorder const values(sort.values, sort.sorted_values, sort.value_bytes, sort.size);
  RadixSort<U, Position> radix(sort, pieces);
  Position const* const positions = radix.run();
  values.run(positions, pieces);
  if (keys)
    keys->run(positions, pieces);
  else
    radix.write_keys(sort.sorted_keys, sort.kind);
}

template <class U>
void sort_of(KeySort const& sort, std::int64_t pieces) {
  if (sort.size <= std::numeric_limits<std::uint32_t>::max())
    sort_as<U, std::uint32_t>(sort, pieces);
  else
    sort_as<U, std::uint64_t>(sort, pieces);
}

void sort_on_host(KeySort const& sort, std::int64_t pieces) {
  if (sort.size == 0) return;
  switch (sort.key_bytes) {
    case 1: return sort_of<std::uint8_t>(sort, pieces);
    case 2: return sort_of<std::uint16_t>(sort, pieces);
    case 4: return sort_of<std::uint32_t>(sort, pieces);
    default: return sort_of<std::uint64_t>(sort, pieces);
  }
}

}  // namespace

void sort_held(HeldArrays& arrays, KeyKind kind) {
  KernelHold const& keys = arrays.holds()[0];
  KernelHold const& values = arrays.holds()[1];
  std::int64_t const size = keys.size();
  if (values.extents()[0] != size)
    throw ValueError("sort_by_key sorts one value, or one row of values, with each key; got " + keys.describe() +
                     " and " + values.describe());
  std::size_t value_bytes = values.dtype().itemsize;
  for (std::int64_t const extent : values.extents().subspan(1)) value_bytes *= static_cast<std::size_t>(extent);
  KeySort const sort{size,          kind,          keys.dtype().itemsize, value_bytes,
                     keys.source(), keys.target(), values.source(),       values.target()};
  arrays.mark_begun();
  if (arrays.where() == ExecutionSpace::host) {
    bool const pays = parallel_chunks(static_cast<std::size_t>(size) * sizeof(std::uint64_t)) > 1;
    std::int64_t const wanted = arrays.sharing().threads;
    // Each piece has a table of counts as large as 2,048 keys.
    std::int64_t const most = std::max<std::int64_t>(8, size / 2048);
    return sort_on_host(sort, std::min({size, most, wanted != 0 ? wanted : pays ? threads() : 1}));
  }
  if (arrays.where() == ExecutionSpace::simulated) {
    std::size_t const alignments[] = {keys.dtype().alignment, values.dtype().alignment};
    launch_emulated(arrays.bound_stream(), [sort, alignments] {
      if (sort.size != 0) {
        testing::detail::check_load(sort.keys, alignments[0]);
        if (sort.value_bytes != 0) testing::detail::check_load(sort.values, alignments[1]);
      }
      sort_on_host(sort, 1);
    });
    return;
  }
  DeviceRun run(arrays.memory(), arrays.bound_stream(), "sorting on a device");
  sort_on_device(sort, run);
}

}  // namespace memarray::detail
