#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <memarray/detail/base/fork.hpp>
#include <memarray/memory/pooling_adaptor.hpp>

namespace memarray::detail {

/// A lock for some ten instructions, which a forked child can always acquire. Waiters poll. `ForkLock` has the same
/// word and sleeps: its release costs a fence and a look for waiters, and the pool's fast path has neither.
class ShortLock {
 public:
  /// Always acquires the lock. Returns false if a fork interrupted a change of the guarded data.
  [[nodiscard]] bool lock() noexcept {
    std::uint32_t const mine = fork_generation() + 1;
    std::uint32_t holder = 0;
    return _holder.compare_exchange_strong(holder, mine, std::memory_order_acquire, std::memory_order_relaxed) ||
           lock_late(mine);
  }
  void unlock() noexcept { _holder.store(0, std::memory_order_release); }

 private:
  bool lock_late(std::uint32_t mine) noexcept;

  std::atomic<std::uint32_t> _holder{0};  // holder's fork generation + 1; 0: free
};

/// Rounded sizes of blocks: eight a doubling.
struct PoolSizes {
  static constexpr int steps_log2 = 3;
  static constexpr std::size_t steps = std::size_t{1} << steps_log2;
  static constexpr int smallest_log2 = std::countr_zero(PoolingAdaptor::smallest);
  static constexpr std::size_t count = (std::numeric_limits<std::size_t>::digits - smallest_log2) * steps;

  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    bytes = std::max(bytes, PoolingAdaptor::smallest);
    std::size_t const step = std::bit_floor(bytes) >> steps_log2;
    return (bytes + step - 1) & ~(step - 1);
  }
  /// The inverse of `size`, for rounded sizes.
  [[nodiscard]] static std::size_t index(std::size_t bytes) noexcept {
    auto const log2 = static_cast<int>(std::bit_width(bytes)) - 1;
    return static_cast<std::size_t>(log2 - smallest_log2) * steps + (bytes >> (log2 - steps_log2)) - steps;
  }
  [[nodiscard]] static std::size_t size(std::size_t index) noexcept {
    return (steps + index % steps) << (static_cast<std::size_t>(smallest_log2 - steps_log2) + index / steps);
  }
};

/// Cached blocks of one size, oldest first.
class Shelf {
 public:
  struct Block {
    void* pointer;
    std::uint64_t age;  // smaller is older
  };

  [[nodiscard]] bool empty() const noexcept { return _first == _blocks.size(); }
  [[nodiscard]] Block const& oldest() const noexcept { return _blocks[_first]; }
  void put(Block block) { _blocks.push_back(block); }
  void* take_newest() noexcept {
    void* const pointer = _blocks.back().pointer;
    _blocks.pop_back();
    if (_first != 0) forget_gaps();
    return pointer;
  }
  void* take_oldest() noexcept {
    void* const pointer = _blocks[_first++].pointer;
    forget_gaps();
    return pointer;
  }

 private:
  void forget_gaps() noexcept;

  std::vector<Block> _blocks;
  std::size_t _first = 0;
};

/// The cached blocks of a shard; separate shards avoid contention.
struct Shelves {
  enum Kind : std::size_t { warm, lazy };  // lazy: allocated zeroed, perhaps written since
  static constexpr std::size_t shelf_count = 2 * PoolSizes::count;

  std::size_t bytes = 0;
  std::size_t granted = 0;  // bytes it may cache
  std::size_t blocks = 0;
  std::uint64_t hits = 0;
  std::uint64_t age = 0;
  std::array<std::uint64_t, (shelf_count + 63) / 64> filled{};  // all shelves with blocks, some without
  std::array<Shelf, shelf_count> shelves;
  std::unordered_set<void*> lazy_in_use;  // blocks of all shards whose addresses belong here

  [[nodiscard]] void* take(Kind kind, std::size_t size) noexcept {
    Shelf& shelf = shelves[kind * PoolSizes::count + PoolSizes::index(size)];
    if (shelf.empty()) return nullptr;
    bytes -= size;
    --blocks;
    ++hits;
    return shelf.take_newest();
  }
  /// `clock` keeps the ages of the shards roughly comparable.
  void put(Kind kind, std::size_t size, void* pointer, std::atomic<std::uint64_t>& clock) {
    constexpr std::uint64_t apart = 64;
    std::size_t const index = kind * PoolSizes::count + PoolSizes::index(size);
    std::uint64_t const shared = clock.load(std::memory_order_relaxed);
    age = std::max(age + 1, shared);
    if (age >= shared + apart) clock.store(age, std::memory_order_relaxed);
    shelves[index].put({pointer, age});
    filled[index / 64] |= std::uint64_t{1} << index % 64;
    bytes += size;
    ++blocks;
  }
  /// Returns the shelf with the oldest block, and its age.
  [[nodiscard]] std::optional<std::pair<std::size_t, std::uint64_t>> oldest() noexcept;
  /// Returns null if the shelf is empty.
  [[nodiscard]] std::pair<void*, std::size_t> take_oldest(std::size_t index) noexcept;
};

class alignas(64) PoolShard {
 public:
  PoolShard() { ::new (static_cast<void*>(_storage)) Shelves(); }
  ~PoolShard() { std::destroy_at(&shelves()); }
  PoolShard(PoolShard const&) = delete;
  PoolShard& operator=(PoolShard const&) = delete;

  template <class F>
  auto locked(F&& use) {
    struct Unlock {
      PoolShard& shard;
      ~Unlock() { shard.unlock(); }
    } const unlock{*this};
    return use(lock());
  }
  [[nodiscard]] Shelves& lock() noexcept {
    // Leaks half changed data.
    if (!_lock.lock()) [[unlikely]]
      ::new (static_cast<void*>(_storage)) Shelves();
    return shelves();
  }
  void unlock() noexcept { _lock.unlock(); }

 private:
  Shelves& shelves() noexcept { return *std::launder(reinterpret_cast<Shelves*>(_storage)); }

  ShortLock _lock;
  alignas(Shelves) std::byte _storage[sizeof(Shelves)];
};

}  // namespace memarray::detail
