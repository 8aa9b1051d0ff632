#include <memarray/memory/statistics_adaptor.hpp>

#include <atomic>
#include <utility>

namespace memarray {

struct StatisticsAdaptor::State {
  explicit State(MemoryResource upstream_) : upstream(std::move(upstream_)) {}

  void* count(void* pointer, std::size_t bytes) noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    live_blocks.fetch_add(1, std::memory_order_relaxed);
    std::uint64_t const live = live_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::uint64_t peak = peak_bytes.load(std::memory_order_relaxed);
    while (peak < live && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
    }
    return pointer;
  }

  MemoryResource upstream;
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> live_blocks{0};
  std::atomic<std::uint64_t> live_bytes{0};
  std::atomic<std::uint64_t> peak_bytes{0};
};

StatisticsAdaptor::StatisticsAdaptor(MemoryResource upstream)
    : _state(std::make_shared<State>(detail::require_nonempty(std::move(upstream)))) {}

void* StatisticsAdaptor::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  return _state->count(_state->upstream.allocate(stream, bytes, alignment), bytes);
}

void* StatisticsAdaptor::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  return _state->count(_state->upstream.allocate_zeroed(stream, bytes, alignment), bytes);
}

void StatisticsAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                   std::size_t alignment) noexcept {
  // Before the release, so that the peak excludes freed memory that another thread reuses.
  _state->live_blocks.fetch_sub(1, std::memory_order_relaxed);
  _state->live_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  _state->upstream.deallocate(stream, pointer, bytes, alignment);
}

void StatisticsAdaptor::zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
  _state->upstream.zero(stream, pointer, bytes);
}

bool StatisticsAdaptor::zeroes_lazily(std::size_t bytes) const noexcept {
  return _state->upstream.zeroes_lazily(bytes);
}

MemoryType StatisticsAdaptor::memory_type() const noexcept { return _state->upstream.memory_type(); }

StatisticsAdaptor::Statistics StatisticsAdaptor::statistics() const noexcept {
  return {_state->allocations.load(std::memory_order_relaxed), _state->live_blocks.load(std::memory_order_relaxed),
          _state->live_bytes.load(std::memory_order_relaxed), _state->peak_bytes.load(std::memory_order_relaxed)};
}

}  // namespace memarray
