#include <memarray/base/errors.hpp>
#include <memarray/memory/failing_adaptor.hpp>

#include <mutex>
#include <string>
#include <utility>

namespace memarray {

struct FailingAdaptor::State {
  explicit State(MemoryResource from) : upstream(std::move(from)) {}

  MemoryResource upstream;
  std::mutex mutex;
  std::int64_t passes = 0;  // allocations that still succeed
  std::int64_t left = 0;
  std::int64_t failures = 0;
};

FailingAdaptor::FailingAdaptor(MemoryResource upstream)
    : _state(std::make_shared<State>(detail::require_nonempty(std::move(upstream)))) {}

void FailingAdaptor::fail(std::int64_t nth, std::int64_t times) {
  if (nth < 1 || times < 1)
    throw ValueError("FailingAdaptor::fail counts from 1: nth is " + std::to_string(nth) + ", times is " +
                     std::to_string(times));
  std::lock_guard const guard(_state->mutex);
  _state->passes = nth - 1;
  _state->left = times;
}

std::int64_t FailingAdaptor::failures() const noexcept {
  std::lock_guard const guard(_state->mutex);
  return _state->failures;
}

void* FailingAdaptor::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  {
    std::lock_guard const guard(_state->mutex);
    if (_state->left > 0 && _state->passes-- == 0) {
      _state->passes = 0;
      --_state->left;
      ++_state->failures;
      throw OutOfMemoryError("an allocation of " + std::to_string(bytes) + " bytes failed: injected by FailingAdaptor");
    }
  }
  return _state->upstream.allocate(stream, bytes, alignment);
}

void FailingAdaptor::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                std::size_t alignment) noexcept {
  _state->upstream.deallocate(stream, pointer, bytes, alignment);
}

MemoryType FailingAdaptor::memory_type() const noexcept { return _state->upstream.memory_type(); }

}  // namespace memarray
