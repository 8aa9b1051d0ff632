#pragma once

#include <memarray/base/hooks.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/device_ptr_handle.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace memarray::python {

/// One batch of a consumer's work in a stream, with its pinned memory. A host function marks its end: an event would
/// add to the calls and waits that tests count.
class ConsumerPiece {
 public:
  /// Throws `CudaError`, as `run` and `wait` do; `wait` also throws `Interrupted`.
  ConsumerPiece(detail::BoundStream bound_stream, std::size_t bytes);

  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(as_intptr(_memory)); }
  [[nodiscard]] detail::BoundStream const& bound_stream() const noexcept { return _bound_stream; }
  [[nodiscard]] bool is_over() const;
  /// Calls `submit`, then marks the end. On failure, waits for the submitted work.
  void run(std::function<void(DriverTable const& driver, cu::Stream stream)> const& submit);
  void wait() const;

 private:
  struct End {
    std::mutex lock;
    std::condition_variable changed;
    bool is_over = false;
  };

  detail::BoundStream _bound_stream;
  DevicePtrHandle _memory;
  std::shared_ptr<End> _end = std::make_shared<End>();
};

/// A consumer's pending work, with its memory.
class ConsumerBacklog {
 public:
  ConsumerBacklog() = default;
  ConsumerBacklog(ConsumerBacklog const&) = delete;
  ConsumerBacklog& operator=(ConsumerBacklog const&) = delete;
  /// Waits for the work.
  ~ConsumerBacklog();

  /// Returns a new piece for the caller to run. Drops completed pieces.
  [[nodiscard]] std::shared_ptr<ConsumerPiece> begin(detail::BoundStream const& bound_stream, std::size_t bytes);
  void wait();

 private:
  std::mutex _lock;
  std::vector<std::shared_ptr<ConsumerPiece>> _pieces;
};

}  // namespace memarray::python
