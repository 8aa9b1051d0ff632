#include "read_pattern.hpp"

#include <algorithm>

namespace memarray::detail {
namespace {

ReadPatternChoice::Cost median(std::span<ReadPatternChoice::Cost> costs) noexcept {
  auto const middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
  std::nth_element(costs.begin(), middle, costs.end());
  return *middle;
}

}  // namespace

ReadPatternChoice& ReadPatternChoice::of_runs() noexcept {
  static constinit ReadPatternChoice choice;
  return choice;
}

ReadPatternChoice& ReadPatternChoice::of_rows() noexcept {
  static constinit ReadPatternChoice choice;
  return choice;
}

ReadPattern ReadPatternChoice::faster(std::span<Cost> interleaved, std::span<Cost> sequential) noexcept {
  constexpr int least_gain = 6;
  Cost const usual = median(interleaved);
  return median(sequential) < usual - usual / least_gain ? ReadPattern::sequential : ReadPattern::interleaved;
}

}  // namespace memarray::detail
