#include "base/thread_number.hpp"

#include <atomic>

namespace memarray::detail {

std::uint64_t this_thread_number() noexcept {
  static constinit std::atomic<std::uint64_t> threads{0};
  static constinit thread_local std::uint64_t number = 0;
  if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace memarray::detail
