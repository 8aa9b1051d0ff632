#include <memarray/memory/limiting_adaptor.hpp>

#include <atomic>
#include <string>
#include <utility>

#include <memarray/base/errors.hpp>

namespace memarray {

struct LimitingAdaptor::State {
  State(MemoryResource upstream_, std::size_t limit_) : upstream(std::move(upstream_)), limit(limit_) {}

  // Counts first: threads must not exceed the limit together.
  template <class F>
  void* within_limit(std::size_t bytes, F&& take) {
    std::size_t used = in_use.load(std::memory_order_relaxed);
    do {
      if (bytes > limit - used) {
        throw OutOfMemoryError(std::to_string(bytes) + " bytes are more than the " + std::to_string(limit - used) +
                               " that a limit of " + std::to_string(limit) + " leaves");
      }
    } while (!in_use.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    try {
      return take();
    } catch (...) {
      in_use.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }

  MemoryResource upstream;
  std::size_t const limit;
  std::atomic<std::size_t> in_use{0};
};

LimitingAdaptor::LimitingAdaptor(MemoryResource upstream, std::size_t limit)
    : _state(std::make_shared<State>(detail::require_nonempty(std::move(upstream)), limit)) {}

void* LimitingAdaptor::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  return _state->within_limit(bytes, [&] { return _state->upstream.allocate(stream, bytes, alignment); });
}

void* LimitingAdaptor::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  return _state->within_limit(bytes, [&] { return _state->upstream.allocate_zeroed(stream, bytes, alignment); });
}

void LimitingAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                 std::size_t alignment) noexcept {
  _state->upstream.deallocate(stream, pointer, bytes, alignment);
  _state->in_use.fetch_sub(bytes, std::memory_order_relaxed);
}

void LimitingAdaptor::zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
  _state->upstream.zero(stream, pointer, bytes);
}

bool LimitingAdaptor::zeroes_lazily(std::size_t bytes) const noexcept { return _state->upstream.zeroes_lazily(bytes); }

MemoryType LimitingAdaptor::memory_type() const noexcept { return _state->upstream.memory_type(); }

std::size_t LimitingAdaptor::limit() const noexcept { return _state->limit; }

std::size_t LimitingAdaptor::in_use() const noexcept { return _state->in_use.load(std::memory_order_relaxed); }

}  // namespace memarray
