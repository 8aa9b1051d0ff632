#include <memarray/memory/pooling_adaptor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>

#include "base/thread_number.hpp"
#include "pool_shard.hpp"

// Null unless the program uses AddressSanitizer.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(void const volatile* pointer, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(void const volatile* pointer, std::size_t bytes);
}

namespace memarray {
namespace {

using detail::PoolShard;
using detail::PoolSizes;
using detail::Shelves;

constexpr std::size_t shard_count = 16;
constexpr std::size_t spare_grant = std::size_t{1} << 20;  // bytes granted beyond a request

std::size_t shard_of_this_thread() noexcept { return detail::this_thread_number() % shard_count; }

// Lets AddressSanitizer accept only the first `bytes` bytes.
void allow(void* pointer, std::size_t bytes, std::size_t size) noexcept {
  if (__asan_poison_memory_region == nullptr || __asan_unpoison_memory_region == nullptr) return;
  __asan_unpoison_memory_region(pointer, bytes);
  __asan_poison_memory_region(static_cast<std::byte*>(pointer) + bytes, size - bytes);
}

}  // namespace

// Each shard caches up to its grant, independently.
struct PoolingAdaptor::State {
  State(MemoryResource upstream_, std::optional<std::size_t> limit_) : upstream(std::move(upstream_)), limit(limit_) {}
  ~State() {
    trim(0);
    for (auto const& shard : shards) delete shard.load(std::memory_order_relaxed);
  }

  PoolShard* shard(std::size_t index) noexcept {
    PoolShard* known = shards[index].load(std::memory_order_acquire);
    return known ? known : make_shard(index);
  }

  PoolShard* make_shard(std::size_t index) noexcept {
    try {
      auto* const fresh = new PoolShard;
      PoolShard* known = nullptr;
      if (shards[index].compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
      delete fresh;
      return known;
    } catch (std::bad_alloc const&) {
      return nullptr;
    }
  }

  template <class F>
  void for_each_shard(F&& use) {
    for (auto const& shard : shards)
      if (PoolShard* const known = shard.load(std::memory_order_acquire)) use(*known);
  }

  void* take(Shelves::Kind kind, std::size_t size) noexcept {
    auto const take_here = [=](Shelves& shelves) noexcept { return shelves.take(kind, size); };
    PoolShard* const own = shard(shard_of_this_thread());
    void* pointer = own ? own->locked(take_here) : nullptr;
    if (pointer) return pointer;
    for_each_shard([&](PoolShard& other) {
      if (!pointer && &other != own) pointer = other.locked(take_here);
    });
    return pointer;
  }

  bool put(Shelves::Kind kind, std::size_t size, void* pointer, std::size_t most) noexcept {
    PoolShard* const own = shard(shard_of_this_thread());
    if (!own) return false;
    allow(pointer, 0, size);
    try {
      // Relaxed: concurrent grants are unordered anyway.
      bool const fits = granted.load(std::memory_order_relaxed) <= most && own->locked([=, this](Shelves& shelves) {
        if (shelves.granted - shelves.bytes < size) return false;
        shelves.put(kind, size, pointer, clock);
        return true;
      });
      if (!fits && !put_after_grant(*own, kind, size, pointer, most)) trim(most);
      return true;
    } catch (std::bad_alloc const&) {
      return false;
    }
  }

  // Always caches the block. False if that exceeds the limit.
  bool put_after_grant(PoolShard& own, Shelves::Kind kind, std::size_t size, void* pointer, std::size_t most) {
    Budget const budget(*this);
    std::size_t all = granted.load(std::memory_order_relaxed);
    if (all > most || most - all < size) granted.store(all = take_unused_grants(), std::memory_order_relaxed);
    bool const fits = all <= most && size <= most - all;
    std::size_t const more = fits ? std::min(most - all, size + std::min(most / 64, spare_grant)) : size;
    own.locked([=, this](Shelves& shelves) {
      shelves.put(kind, size, pointer, clock);
      shelves.granted += more;
    });
    granted.store(all + more, std::memory_order_relaxed);
    return fits;
  }

  void give_back(StreamHandle const& stream, void* pointer, std::size_t size) noexcept {
    allow(pointer, size, size);
    upstream.deallocate(stream, pointer, size);
  }

  std::size_t trim(std::size_t keep) noexcept {
    std::size_t freed = 0;
    for (;;) {
      // Holds no lock while the system releases pages.
      auto const [pointer, size] = take_oldest(keep);
      if (pointer == nullptr) return freed;
      give_back(default_stream(), pointer, size);
      freed += size;
    }
  }

  std::pair<void*, std::size_t> take_oldest(std::size_t keep) noexcept {
    Budget const budget(*this);
    for (;;) {
      std::size_t const all = take_unused_grants();
      granted.store(all, std::memory_order_relaxed);
      if (all <= keep) return {};
      PoolShard* owner = nullptr;
      std::pair<std::size_t, std::uint64_t> oldest;
      for_each_shard([&](PoolShard& shard) {
        auto const here = shard.locked([](Shelves& shelves) noexcept { return shelves.oldest(); });
        if (!here || (owner && oldest.second <= here->second)) return;
        owner = &shard;
        oldest = *here;
      });
      if (!owner) continue;  // another thread took the last block
      auto const taken = owner->locked([&](Shelves& shelves) noexcept {
        auto const block = shelves.take_oldest(oldest.first);
        shelves.granted -= block.second;
        return block;
      });
      granted.store(all - taken.second, std::memory_order_relaxed);
      if (taken.first) return taken;
    }
  }

  // Reduces each grant to the bytes cached, under the budget. Returns their sum.
  std::size_t take_unused_grants() noexcept {
    std::size_t all = 0;
    for_each_shard([&](PoolShard& shard) {
      shard.locked([&](Shelves& shelves) noexcept { all += shelves.granted = shelves.bytes; });
    });
    return all;
  }

  struct Budget {
    explicit Budget(State& of) noexcept : state(of) {
      // A fork interrupted a change.
      if (!state.budget.lock()) state.granted.store(state.take_unused_grants(), std::memory_order_relaxed);
    }
    ~Budget() { state.budget.unlock(); }
    Budget(Budget const&) = delete;
    Budget& operator=(Budget const&) = delete;
    State& state;
  };

  std::size_t current_limit() const noexcept {
    return limit ? *limit : options().pool_limit.load(std::memory_order_relaxed);
  }

  template <class F>
  void* or_after_trim(std::size_t bytes, F&& take) {
    try {
      return take();
    } catch (OutOfMemoryError const&) {
      std::size_t const freed = trim(0);
      if (freed == 0) {
        throw;
      }
      try {
        return take();
      } catch (OutOfMemoryError const& error) {
        throw OutOfMemoryError(std::string(error.what()) + " (" + std::to_string(bytes) +
                               " were requested; the pool has released the " + std::to_string(freed) +
                               " that it kept)");
      }
    }
  }

  // Returns the shard that records whether the block was allocated zeroed.
  PoolShard* home(void* pointer) noexcept {
    return shard((reinterpret_cast<std::uintptr_t>(pointer) >> PoolSizes::smallest_log2) * 0x9E3779B97F4A7C15u >> 60);
  }
  bool remember_lazy(void* pointer) noexcept {
    PoolShard* const known_there = home(pointer);
    if (!known_there) return false;
    try {
      known_there->locked([=](Shelves& shelves) { shelves.lazy_in_use.insert(pointer); });
      lazy_in_use.fetch_add(1, std::memory_order_relaxed);
      return true;
    } catch (std::bad_alloc const&) {
      return false;
    }
  }
  bool forget_lazy(void* pointer) noexcept {
    // Relaxed: a block's owner has seen its increment.
    if (lazy_in_use.load(std::memory_order_relaxed) == 0) return false;
    PoolShard* const known_there = home(pointer);
    bool const was = known_there && known_there->locked([=](Shelves& shelves) noexcept {
      return shelves.lazy_in_use.erase(pointer) != 0;
    });
    if (was) lazy_in_use.fetch_sub(1, std::memory_order_relaxed);
    return was;
  }

  MemoryResource upstream;
  std::optional<std::size_t> limit;
  std::array<std::atomic<PoolShard*>, shard_count> shards{};
  detail::ShortLock budget;
  std::atomic<std::size_t> granted{0};  // to all shards; changes under `budget`
  std::atomic<std::uint64_t> clock{0};  // an age that some shard has reached
  std::atomic<std::size_t> lazy_in_use{0};
  std::atomic<std::uint64_t> misses{0};
};

namespace {

bool passes(std::size_t bytes, std::size_t alignment) noexcept {
  return alignment > default_alignment || bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

}  // namespace

PoolingAdaptor::PoolingAdaptor(MemoryResource upstream, std::optional<std::size_t> limit) {
  upstream = detail::require_nonempty(std::move(upstream));
  if (upstream.memory_type() == MemoryType::device) {
    throw ValueError("device memory is pooled by the driver; give this adaptor memory that the host can reach");
  }
  _state = std::make_shared<State>(std::move(upstream), limit);
}

void* PoolingAdaptor::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  State& state = *_state;
  if (passes(bytes, alignment)) {
    return state.or_after_trim(bytes, [&] { return state.upstream.allocate(stream, bytes, alignment); });
  }
  std::size_t const size = PoolSizes::rounded(bytes);
  void* pointer = state.take(Shelves::warm, size);
  if (pointer == nullptr && state.upstream.zeroes_lazily(size)) pointer = state.take(Shelves::lazy, size);
  if (pointer == nullptr) {
    state.misses.fetch_add(1, std::memory_order_relaxed);
    pointer = state.or_after_trim(bytes, [&] { return state.upstream.allocate(stream, size, alignment); });
  }
  allow(pointer, bytes, size);
  return pointer;
}

void* PoolingAdaptor::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  State& state = *_state;
  if (passes(bytes, alignment)) {
    return state.or_after_trim(bytes, [&] { return state.upstream.allocate_zeroed(stream, bytes, alignment); });
  }
  std::size_t const size = PoolSizes::rounded(bytes);
  bool const lazily = state.upstream.zeroes_lazily(size);
  void* pointer = state.take(lazily ? Shelves::lazy : Shelves::warm, size);
  if (pointer != nullptr) {
    allow(pointer, size, size);
    try {
      // Zeroes a lazy block's tail, too, to release its pages.
      state.upstream.zero(stream, pointer, lazily ? size : bytes);
    } catch (...) {
      deallocate(default_stream(), pointer, bytes, alignment);
      throw;
    }
  } else {
    state.misses.fetch_add(1, std::memory_order_relaxed);
    pointer = state.or_after_trim(bytes, [&] { return state.upstream.allocate_zeroed(stream, size, alignment); });
  }
  if (lazily && !state.remember_lazy(pointer)) {
    state.give_back(stream, pointer, size);
    throw OutOfMemoryError("the system has no memory left to keep account of a block of " + std::to_string(size) +
                           " bytes");
  }
  allow(pointer, bytes, size);
  return pointer;
}

void PoolingAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                std::size_t alignment) noexcept {
  State& state = *_state;
  if (passes(bytes, alignment)) {
    state.upstream.deallocate(stream, pointer, bytes, alignment);
    return;
  }
  std::size_t const size = PoolSizes::rounded(bytes);
  std::size_t const limit = state.current_limit();
  Shelves::Kind const kind = state.forget_lazy(pointer) ? Shelves::lazy : Shelves::warm;
  if (size <= limit && state.put(kind, size, pointer, limit)) return;
  state.give_back(stream, pointer, size);
  if (state.granted.load(std::memory_order_relaxed) > limit) state.trim(limit);
}

void PoolingAdaptor::zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
  _state->upstream.zero(stream, pointer, bytes);
}

bool PoolingAdaptor::zeroes_lazily(std::size_t bytes) const noexcept { return _state->upstream.zeroes_lazily(bytes); }

MemoryType PoolingAdaptor::memory_type() const noexcept { return _state->upstream.memory_type(); }

std::size_t PoolingAdaptor::trim(std::size_t keep) noexcept { return _state->trim(keep); }

PoolingAdaptor::Statistics PoolingAdaptor::statistics() const noexcept {
  State& state = *_state;
  Statistics all{0, 0, 0, state.misses.load(std::memory_order_relaxed)};
  // Locks all shards together: a moving block counts once. The budget keeps blocks out of shards that do not exist yet.
  State::Budget const budget(state);
  std::array<PoolShard*, shard_count> held;
  std::size_t count = 0;
  state.for_each_shard([&](PoolShard& shard) {
    Shelves const& shelves = shard.lock();
    held[count++] = &shard;
    all.kept_bytes += shelves.bytes;
    all.kept_blocks += shelves.blocks;
    all.hits += shelves.hits;
  });
  for (std::size_t i = 0; i < count; ++i) held[i]->unlock();
  return all;
}

}  // namespace memarray
