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

/// A piece of a stream's work, with the pinned memory that it uses. A host function behind the work marks its end, not
/// an event: a test then counts only the calls and waits of the producer.
class ConsumerPiece {
 public:
  /// Allocates the memory. Throws `CudaError`, as `run` and `wait` do.
  ConsumerPiece(detail::BoundStream queue, std::size_t bytes);

  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(as_intptr(_memory)); }
  [[nodiscard]] detail::BoundStream const& queue() const noexcept { return _queue; }
  [[nodiscard]] bool is_over() const;
  /// Calls `submit`, and submits the mark of the end. If that fails, waits for the work that was submitted.
  void run(std::function<void(DriverTable const& driver, cu::Stream stream)> const& submit);
  void wait() const;

 private:
  struct End {
    std::mutex lock;
    std::condition_variable changed;
    bool is_over = false;
  };

  detail::BoundStream _queue;
  DevicePtrHandle _memory;
  std::shared_ptr<End> _end = std::make_shared<End>();
};

/// The work of a consumer that may not have completed. It keeps the memory of that work.
class ConsumerBacklog {
 public:
  ConsumerBacklog() = default;
  ConsumerBacklog(ConsumerBacklog const&) = delete;
  ConsumerBacklog& operator=(ConsumerBacklog const&) = delete;
  /// Waits for the work.
  ~ConsumerBacklog();

  /// Returns a new piece, which the caller runs.
  [[nodiscard]] std::shared_ptr<ConsumerPiece> begin(detail::BoundStream const& queue, std::size_t bytes);
  void wait();

 private:
  std::mutex _lock;
  std::vector<std::shared_ptr<ConsumerPiece>> _pieces;
};

}  // namespace memarray::python
