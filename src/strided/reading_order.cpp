#include "reading_order.hpp"

#include <algorithm>
#include <cstdint>

namespace memarray::detail {
namespace {

// `in_order` must save one part in this many. If it saves less on dense memory, it loses more than that on other views.
// The first job of a process also finds memory slower than later ones.
constexpr std::int64_t least_gain = 6;

}  // namespace

ReadingOrder& ReadingOrder::of_runs() noexcept {
  static constinit ReadingOrder order;
  return order;
}

ReadingOrder& ReadingOrder::of_rows() noexcept {
  static constinit ReadingOrder order;
  return order;
}

// The median ignores pieces that waited for the processor and pieces that were in the caches.
std::int64_t ReadingOrder::Costs::median() const noexcept {
  std::int64_t known[trials];
  std::int64_t* end = known;
  for (auto const& cost : each)
    if (std::int64_t const seen = cost.load(std::memory_order_relaxed); seen != 0) *end++ = seen;
  if (end == known) return 0;
  std::int64_t* const middle = known + (end - known) / 2;
  std::nth_element(known, middle, end);
  return *middle;
}

void ReadingOrder::took(Way way, std::size_t bytes, std::chrono::nanoseconds time) noexcept {
  std::int64_t const cost = time.count() * 1'000'000 / std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes));
  Costs& costs = _costs[static_cast<int>(way)];
  if (int const number = costs.count.fetch_add(1, std::memory_order_relaxed); number < trials)
    costs.each[number].store(std::max<std::int64_t>(1, cost), std::memory_order_relaxed);
  if (_trials.fetch_add(1, std::memory_order_relaxed) + 1 != trials) return;
  std::int64_t const at_once = _costs[0].median();
  std::int64_t const in_order = _costs[1].median();
  bool const clearly_less = in_order != 0 && in_order < at_once - at_once / least_gain;
  _way.store(clearly_less ? Way::in_order : Way::side_by_side, std::memory_order_relaxed);
}

}  // namespace memarray::detail
