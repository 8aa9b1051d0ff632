#include "testing/consumer_backlog.hpp"

#include <memarray/driver/last_error.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace memarray::python {

ConsumerPiece::ConsumerPiece(detail::BoundStream bound_stream, std::size_t bytes)
    : _bound_stream(std::move(bound_stream)),
      _memory(allocate_pinned(_bound_stream.context, std::max<std::size_t>(bytes, 1))) {
  if (!_memory) throw_last_error("a consumer's own memory");
}

bool ConsumerPiece::is_over() const {
  std::lock_guard const guard(_end->lock);
  return _end->is_over;
}

void ConsumerPiece::run(std::function<void(DriverTable const& driver, cu::Stream stream)> const& submit) {
  try {
    detail::ContextScope const scope(_bound_stream.context);
    if (!scope.driver()) throw_last_error("a consumer's work");
    RuntimeRelease const released;
    submit(*scope.driver(), *_bound_stream.stream);
    auto argument = std::make_unique<std::shared_ptr<End>>(_end);
    cu::HostFunction const report_end = [](void* data) {
      std::unique_ptr<std::shared_ptr<End>> const end(static_cast<std::shared_ptr<End>*>(data));
      std::lock_guard const guard((*end)->lock);
      (*end)->is_over = true;
      (*end)->changed.notify_all();
    };
    detail::check_driver(scope.driver()->cuLaunchHostFunc(*_bound_stream.stream, report_end, argument.get()),
                         "a consumer's work");
    [[maybe_unused]] auto* const taken = argument.release();
  } catch (...) {
    // The piece's memory may be freed next.
    if (!detail::synchronize(_bound_stream)) clear_last_error();
    std::lock_guard const guard(_end->lock);
    _end->is_over = true;
    throw;
  }
}

void ConsumerPiece::wait() const {
  RuntimeRelease released;
  std::unique_lock guard(_end->lock);
  while (!_end->changed.wait_for(guard, std::chrono::seconds(5), [&] { return _end->is_over; })) {
    guard.unlock();
    released.poll_signals();
    // After a device error no host function runs.
    if (!detail::synchronize(_bound_stream.context)) throw_last_error("waiting for a consumer's work");
    guard.lock();
  }
}

ConsumerBacklog::~ConsumerBacklog() {
  try {
    wait();
  } catch (...) {
    // Leak the memory, which pending work may use.
    static_cast<void>(new (std::nothrow) std::vector(std::move(_pieces)));
    clear_last_error();
  }
}

std::shared_ptr<ConsumerPiece> ConsumerBacklog::begin(detail::BoundStream const& bound_stream, std::size_t bytes) {
  std::vector<std::shared_ptr<ConsumerPiece>> over;  // freed without the lock
  auto piece = std::make_shared<ConsumerPiece>(bound_stream, bytes);
  std::lock_guard const guard(_lock);
  auto const first =
      std::stable_partition(_pieces.begin(), _pieces.end(), [](auto const& each) { return !each->is_over(); });
  over.assign(first, _pieces.end());
  _pieces.erase(first, _pieces.end());
  return _pieces.emplace_back(std::move(piece));
}

void ConsumerBacklog::wait() {
  std::vector<std::shared_ptr<ConsumerPiece>> pieces;
  {
    std::lock_guard const guard(_lock);
    pieces = _pieces;
  }
  for (auto const& piece : pieces)
    if (driver_of(piece->bound_stream().context)) piece->wait();
}

}  // namespace memarray::python
