#include <memarray/memory/pooling_adaptor.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <memarray/base/errors.hpp>
#include <memarray/base/fork_lock.hpp>
#include <memarray/base/options.hpp>

namespace memarray {
namespace {

constexpr int steps_log2 = 3;  // sizes per doubling, so that rounding wastes an eighth at most
constexpr std::size_t steps = std::size_t{1} << steps_log2;
constexpr int smallest_log2 = std::countr_zero(PoolingAdaptor::pooled_from);
constexpr std::size_t size_count = (std::numeric_limits<std::size_t>::digits - smallest_log2) * steps;

std::size_t rounded(std::size_t bytes) noexcept {
  std::size_t const step = std::bit_floor(bytes) >> steps_log2;
  return (bytes + step - 1) & ~(step - 1);
}

// Of a rounded size.
std::size_t size_index(std::size_t bytes) noexcept {
  int const log2 = std::bit_width(bytes) - 1;
  return static_cast<std::size_t>(log2 - smallest_log2) * steps + (bytes >> (log2 - steps_log2)) - steps;
}

struct KeptBlock {
  void* pointer;
  std::uint64_t age;  // the smaller, the older
};

// Of one size, oldest first.
class Shelf {
 public:
  [[nodiscard]] bool empty() const noexcept { return _first == _blocks.size(); }
  [[nodiscard]] KeptBlock const& oldest() const noexcept { return _blocks[_first]; }
  void put(KeptBlock block) { _blocks.push_back(block); }

  void* take_newest() noexcept {
    void* const pointer = _blocks.back().pointer;
    _blocks.pop_back();
    forget_gaps();
    return pointer;
  }

  void* take_oldest() noexcept {
    void* const pointer = _blocks[_first++].pointer;
    forget_gaps();
    return pointer;
  }

 private:
  void forget_gaps() noexcept {
    if (_first * 2 >= _blocks.size()) {
      _blocks.erase(_blocks.begin(), _blocks.begin() + static_cast<std::ptrdiff_t>(_first));
      _first = 0;
    }
  }

  std::vector<KeptBlock> _blocks;
  std::size_t _first = 0;
};

struct Kept {
  enum Kind : std::size_t { warm, lazy };  // lazy: zeroed when it was given, touched who knows where since

  std::array<std::array<Shelf, size_count>, 2> shelves;
  std::unordered_set<void*> lazy_in_use;
  std::size_t bytes = 0;
  std::size_t blocks = 0;
  std::uint64_t age = 0;

  void* take(Kind kind, std::size_t size) noexcept {
    Shelf& shelf = shelves[kind][size_index(size)];
    if (shelf.empty()) {
      return nullptr;
    }
    bytes -= size;
    --blocks;
    return shelf.take_newest();
  }

  void put(Kind kind, std::size_t size, void* pointer) {
    shelves[kind][size_index(size)].put({pointer, age++});
    bytes += size;
    ++blocks;
  }

  std::pair<void*, std::size_t> take_oldest() noexcept {
    Shelf* oldest = nullptr;
    std::size_t size = 0;
    for (auto& kind : shelves) {
      for (std::size_t i = 0; i < size_count; ++i) {
        if (!kind[i].empty() && (oldest == nullptr || kind[i].oldest().age < oldest->oldest().age)) {
          oldest = &kind[i];
          size = (steps + i % steps) << (static_cast<std::size_t>(smallest_log2 - steps_log2) + i / steps);
        }
      }
    }
    if (oldest == nullptr) {
      return {nullptr, 0};
    }
    bytes -= size;
    --blocks;
    return {oldest->take_oldest(), size};
  }
};

}  // namespace

struct PoolingAdaptor::State {
  State(MemoryResource upstream_, std::optional<std::size_t> limit_) : upstream(std::move(upstream_)), limit(limit_) {
    ::new (static_cast<void*>(storage)) Kept();
  }
  ~State() {
    trim(0);
    locked([](Kept& kept) { kept.~Kept(); });
  }

  template <class F>
  std::invoke_result_t<F&, Kept&> locked(F&& use) {
    if (!lock.lock()) {
      ::new (static_cast<void*>(storage)) Kept();  // leaks what a thread lost in a fork was changing
    }
    struct Unlock {
      detail::ForkLock& lock;
      ~Unlock() { lock.unlock(); }
    } const unlock{lock};
    return use(*std::launder(reinterpret_cast<Kept*>(storage)));
  }

  std::size_t trim(std::size_t keep) noexcept {
    std::size_t freed = 0;
    for (;;) {
      // One at a time, so that the lock is never held while the system takes pages back.
      auto const [pointer, size] = locked(
          [keep](Kept& kept) { return kept.bytes > keep ? kept.take_oldest() : std::pair<void*, std::size_t>(); });
      if (pointer == nullptr) {
        return freed;
      }
      upstream.deallocate(default_stream(), pointer, size);
      freed += size;
    }
  }

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
        throw OutOfMemoryError(std::string(error.what()) + ", though the pool gave back the " + std::to_string(freed) +
                               " bytes that it kept (" + std::to_string(bytes) + " were asked for)");
      }
    }
  }

  MemoryResource upstream;
  std::optional<std::size_t> limit;
  detail::ForkLock lock;
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> misses{0};
  alignas(Kept) std::byte storage[sizeof(Kept)];
};

namespace {

bool passes(std::size_t bytes, std::size_t alignment) noexcept {
  return bytes < PoolingAdaptor::pooled_from || alignment > default_alignment ||
         bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
}

}  // namespace

PoolingAdaptor::PoolingAdaptor(MemoryResource upstream, std::optional<std::size_t> limit) {
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
  std::size_t const size = rounded(bytes);
  void* const kept = state.locked([size](Kept& all) {
    void* const pointer = all.take(Kept::warm, size);
    return pointer != nullptr ? pointer : all.take(Kept::lazy, size);
  });
  if (kept != nullptr) {
    state.hits.fetch_add(1, std::memory_order_relaxed);
    return kept;
  }
  state.misses.fetch_add(1, std::memory_order_relaxed);
  return state.or_after_trim(bytes, [&] { return state.upstream.allocate(stream, size, alignment); });
}

void* PoolingAdaptor::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  State& state = *_state;
  if (passes(bytes, alignment)) {
    return state.or_after_trim(bytes, [&] { return state.upstream.allocate_zeroed(stream, bytes, alignment); });
  }
  std::size_t const size = rounded(bytes);
  bool const lazily = state.upstream.zeroes_lazily(size);
  void* pointer = state.locked([=](Kept& all) { return all.take(lazily ? Kept::lazy : Kept::warm, size); });
  if (pointer != nullptr) {
    state.hits.fetch_add(1, std::memory_order_relaxed);
    // All of a lazy block, so that the pages of its tail are not kept for ever.
    state.upstream.zero(stream, pointer, lazily ? size : bytes);
  } else {
    state.misses.fetch_add(1, std::memory_order_relaxed);
    pointer = state.or_after_trim(bytes, [&] { return state.upstream.allocate_zeroed(stream, size, alignment); });
  }
  if (lazily) {
    try {
      state.locked([pointer](Kept& all) { all.lazy_in_use.insert(pointer); });
    } catch (std::bad_alloc const&) {
      state.upstream.deallocate(stream, pointer, size, alignment);
      throw OutOfMemoryError("the system has no memory left to keep account of a block of " + std::to_string(size) +
                             " bytes");
    }
  }
  return pointer;
}

void PoolingAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                std::size_t alignment) noexcept {
  State& state = *_state;
  if (passes(bytes, alignment)) {
    state.upstream.deallocate(stream, pointer, bytes, alignment);
    return;
  }
  std::size_t const size = rounded(bytes);
  std::size_t const limit = state.current_limit();
  bool const lazily = state.upstream.zeroes_lazily(size);
  bool kept = size <= limit;
  bool const over = state.locked([=, &kept](Kept& all) noexcept {
    bool const lazy = lazily && all.lazy_in_use.erase(pointer) != 0;
    try {
      if (kept) {
        all.put(lazy ? Kept::lazy : Kept::warm, size, pointer);
      }
    } catch (std::bad_alloc const&) {
      kept = false;
    }
    return all.bytes > limit;
  });
  if (!kept) {
    state.upstream.deallocate(stream, pointer, size, alignment);
  }
  if (over) {
    state.trim(limit);
  }
}

void PoolingAdaptor::zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
  _state->upstream.zero(stream, pointer, bytes);
}

bool PoolingAdaptor::zeroes_lazily(std::size_t bytes) const noexcept { return _state->upstream.zeroes_lazily(bytes); }

MemoryType PoolingAdaptor::memory_type() const noexcept { return _state->upstream.memory_type(); }

std::size_t PoolingAdaptor::trim(std::size_t keep) noexcept { return _state->trim(keep); }

PoolingAdaptor::Statistics PoolingAdaptor::statistics() const noexcept {
  State& state = *_state;
  auto const [bytes, blocks] = state.locked([](Kept& kept) { return std::pair(kept.bytes, kept.blocks); });
  return {bytes, blocks, state.hits.load(std::memory_order_relaxed), state.misses.load(std::memory_order_relaxed)};
}

}  // namespace memarray
