#pragma once

#include <memarray/base/hooks.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/driver/device_ptr_handle.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace memarray::python {

/// A piece of a stream's work, with the pinned memory that it uses. Its end is said by a host function behind it and
/// not by an event, so that the calls and waits which a test counts are the producer's.
class ConsumerPiece {
 public:
  /// Throws `CudaError`, as do the others.
  ConsumerPiece(detail::Queue queue, std::size_t bytes);

  [[nodiscard]] void* data() const noexcept { return reinterpret_cast<void*>(as_intptr(_memory)); }
  [[nodiscard]] detail::Queue const& queue() const noexcept { return _queue; }
  [[nodiscard]] bool is_over() const;
  /// `submit`, and then the end of it; if that fails, what was submitted is waited for.
  void run(std::function<void(DriverTable const& driver, cu::Stream stream)> const& submit);
  void wait() const;

 private:
  struct End {
    std::mutex lock;
    std::condition_variable changed;
    bool is_over = false;
  };

  detail::Queue _queue;
  DevicePtrHandle _memory;
  std::shared_ptr<End> _end = std::make_shared<End>();
};

/// What a consumer has queued and may not be over; its memory goes only then.
class ConsumerBacklog {
 public:
  ConsumerBacklog() = default;
  ConsumerBacklog(ConsumerBacklog const&) = delete;
  ConsumerBacklog& operator=(ConsumerBacklog const&) = delete;
  /// Waits.
  ~ConsumerBacklog();

  /// A piece that is to be run.
  [[nodiscard]] std::shared_ptr<ConsumerPiece> begin(detail::Queue const& queue, std::size_t bytes);
  void wait();

 private:
  std::mutex _lock;
  std::vector<std::shared_ptr<ConsumerPiece>> _pieces;
};

}  // namespace memarray::python
