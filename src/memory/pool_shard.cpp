#include "pool_shard.hpp"

#include <chrono>
#include <thread>

namespace memarray::detail {

bool ShortLock::lock_late(std::uint32_t mine) noexcept {
  constexpr int tries_before_yield = 64;
  constexpr int yields = 256;
  for (int round = 0;; ++round) {
    for (int i = 0; i < tries_before_yield; ++i) {
      std::uint32_t holder = _holder.load(std::memory_order_relaxed);
      if (holder != mine && _holder.compare_exchange_weak(holder, mine, std::memory_order_acquire)) return holder == 0;
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#endif
    }
    // The holder has no core. With thread priorities, yielding may not help.
    if (round < yields)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Shelf::forget_gaps() noexcept {
  if (_first * 2 < _blocks.size()) return;
  _blocks.erase(_blocks.begin(), _blocks.begin() + static_cast<std::ptrdiff_t>(_first));
  _first = 0;
}

std::optional<std::pair<std::size_t, std::uint64_t>> Shelves::oldest() noexcept {
  std::optional<std::pair<std::size_t, std::uint64_t>> oldest;
  for (std::size_t word = 0; word < filled.size(); ++word) {
    for (std::uint64_t bits = filled[word]; bits != 0; bits &= bits - 1) {
      std::size_t const index = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (shelves[index].empty()) {
        filled[word] &= ~(std::uint64_t{1} << index % 64);
      } else if (!oldest || shelves[index].oldest().age < oldest->second) {
        oldest = {index, shelves[index].oldest().age};
      }
    }
  }
  return oldest;
}

std::pair<void*, std::size_t> Shelves::take_oldest(std::size_t index) noexcept {
  if (shelves[index].empty()) return {nullptr, 0};
  std::size_t const size = PoolSizes::size(index % PoolSizes::count);
  bytes -= size;
  --blocks;
  return {shelves[index].take_oldest(), size};
}

}  // namespace memarray::detail
