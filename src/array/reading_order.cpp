#include <memarray/array/reading_order.hpp>

#include <algorithm>

namespace memarray::detail {

ReadingOrder& ReadingOrder::of_runs() noexcept {
  static constinit ReadingOrder order;
  return order;
}

ReadingOrder& ReadingOrder::of_rows() noexcept {
  static constinit ReadingOrder order;
  return order;
}

void ReadingOrder::took(Way way, std::size_t bytes, std::chrono::nanoseconds time) noexcept {
  std::int64_t const cost = time.count() * 1'000'000 / std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes));
  std::atomic<std::int64_t>& best = _best[static_cast<int>(way)];
  std::int64_t seen = best.load(std::memory_order_relaxed);
  while (cost < seen && !best.compare_exchange_weak(seen, cost, std::memory_order_relaxed)) {
  }
  if (_trials.fetch_add(1, std::memory_order_relaxed) + 1 != trials) return;
  bool const in_order = _best[1].load(std::memory_order_relaxed) < _best[0].load(std::memory_order_relaxed);
  _way.store(in_order ? Way::in_order : Way::side_by_side, std::memory_order_relaxed);
}

}  // namespace memarray::detail
