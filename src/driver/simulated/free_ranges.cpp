#include "free_ranges.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace memarray::simulated {
namespace {

bool is_done(std::shared_ptr<Freeing> const& freeing) noexcept {
  return !freeing || freeing->has_run.load(std::memory_order_acquire);
}

}  // namespace

bool FreeRanges::are_alike(Range const& one, Range const& other) noexcept {
  if (one.freeing == other.freeing) return true;
  return !is_watched && is_done(one.freeing) && is_done(other.freeing);
}

void FreeRanges::give(std::uintptr_t begin, std::size_t bytes, std::shared_ptr<Freeing> freeing) {
  if (bytes == 0) return;
  _bytes += bytes;
  auto here = _ranges.emplace(begin, Range{bytes, std::move(freeing)}).first;
  if (auto const after = std::next(here);
      after != _ranges.end() && begin + bytes == after->first && are_alike(here->second, after->second)) {
    here->second.bytes += after->second.bytes;
    _ranges.erase(after);
  }
  if (here == _ranges.begin()) return;
  auto const before = std::prev(here);
  if (before->first + before->second.bytes == begin && are_alike(before->second, here->second)) {
    before->second.bytes += here->second.bytes;
    _ranges.erase(here);
  }
}

std::optional<std::uintptr_t> FreeRanges::take(std::size_t bytes, May const& may,
                                               std::vector<std::shared_ptr<Freeing>>& behind) {
  auto first = _ranges.end();
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  for (auto range = _ranges.begin(); range != _ranges.end(); ++range) {
    if (range->second.freeing && !may(*range->second.freeing)) {
      first = _ranges.end();
      continue;
    }
    if (first == _ranges.end() || range->first != end) {
      first = range;
      begin = range->first;
    }
    end = range->first + range->second.bytes;
    if (end - begin < bytes) continue;
    Range rest = range->second;
    auto const stop = std::next(range);
    for (auto used = first; used != stop; used = _ranges.erase(used))
      if (used->second.freeing) behind.push_back(used->second.freeing);
    rest.bytes = end - (begin + bytes);
    if (rest.bytes > 0) _ranges.emplace(begin + bytes, std::move(rest));
    _bytes -= bytes;
    return begin;
  }
  return std::nullopt;
}

std::size_t FreeRanges::move_done(std::size_t bytes, FreeRanges& other) {
  std::size_t moved = 0;
  for (auto range = _ranges.end(); moved < bytes && range != _ranges.begin();) {
    --range;
    if (!is_done(range->second.freeing)) continue;
    std::size_t const part = std::min(bytes - moved, range->second.bytes);
    std::size_t const kept = range->second.bytes - part;
    other.give(range->first + kept, part, range->second.freeing);
    moved += part;
    range->second.bytes = kept;
    if (kept == 0) range = _ranges.erase(range);
  }
  _bytes -= moved;
  return moved;
}

}  // namespace memarray::simulated
