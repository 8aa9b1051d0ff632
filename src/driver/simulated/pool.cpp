#include "pool.hpp"

#include <memarray/base/cuda_code.hpp>

#include <algorithm>
#include <utility>

namespace memarray::simulated {

std::optional<std::uintptr_t> Pool::allocate(std::size_t bytes, cu::Stream stream, FreeRanges& device_memory,
                                             std::vector<std::shared_ptr<Freeing>>& behind) {
  bool const takes_others = reuse[pool_attribute::reuse_is_opportunistic - 1] != 0;
  auto found = kept.take(
      bytes,
      [&](Freeing const& freeing) {
        return freeing.stream == stream || (takes_others && freeing.has_run.load(std::memory_order_acquire));
      },
      behind);
  if (!found) {
    if (max_size != 0 && reserved + bytes > max_size) return std::nullopt;
    found = device_memory.take(bytes, [](Freeing const&) { return true; }, behind);
    if (!found) return std::nullopt;
    reserved += bytes;
    reserved_high = std::max(reserved_high, reserved);
  }
  used += bytes;
  used_high = std::max(used_high, used);
  return found;
}

void Pool::free(std::uintptr_t begin, std::size_t bytes, std::shared_ptr<Freeing> freeing) {
  used -= bytes;
  kept.give(begin, bytes, std::move(freeing));
}

void Pool::trim(std::uint64_t keep, FreeRanges& device_memory) {
  if (reserved > keep) reserved -= kept.move_done(reserved - keep, device_memory);
}

cu::Result Pool::set(int attribute, void const* value) {
  switch (attribute) {
    case pool_attribute::reuse_follows_events:
    case pool_attribute::reuse_is_opportunistic:
    case pool_attribute::reuse_adds_dependencies:
      reuse[attribute - 1] = *static_cast<int const*>(value);
      return cuda_code::success;
    case pool_attribute::release_threshold:
      release_threshold = *static_cast<std::uint64_t const*>(value);
      return cuda_code::success;
    case pool_attribute::reserved_high:
    case pool_attribute::used_high: {
      if (*static_cast<std::uint64_t const*>(value) != 0) return cuda_code::invalid_value;
      bool const is_reserved = attribute == pool_attribute::reserved_high;
      (is_reserved ? reserved_high : used_high) = is_reserved ? reserved : used;
      return cuda_code::success;
    }
    default: return cuda_code::invalid_value;
  }
}

cu::Result Pool::get(int attribute, void* value) const {
  auto const put = [&](std::uint64_t number) {
    *static_cast<std::uint64_t*>(value) = number;
    return cuda_code::success;
  };
  switch (attribute) {
    case pool_attribute::reuse_follows_events:
    case pool_attribute::reuse_is_opportunistic:
    case pool_attribute::reuse_adds_dependencies:
      *static_cast<int*>(value) = reuse[attribute - 1];
      return cuda_code::success;
    case pool_attribute::release_threshold: return put(release_threshold);
    case pool_attribute::reserved_current: return put(reserved);
    case pool_attribute::reserved_high: return put(reserved_high);
    case pool_attribute::used_current: return put(used);
    case pool_attribute::used_high: return put(used_high);
    default: return cuda_code::invalid_value;
  }
}

}  // namespace memarray::simulated
