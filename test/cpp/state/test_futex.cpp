#include "state/futex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace memarray::detail {
namespace {

using namespace std::chrono_literals;

// On a busy machine each yield may take as long as a time slice.
TEST(FutexTest, NoAttemptFollowsTheDeadlineWhileYielding) {
  std::atomic<std::uint32_t> epoch{0};
  int attempts = 0;
  auto const attempt = [&] {
    ++attempts;
    std::this_thread::sleep_for(2ms);
    return false;
  };
  EXPECT_FALSE(wait_with_futex(
      epoch, FutexScope::process, 1ms, {.spins = 0, .yields = 1000}, attempt, [] { return 0; }, [] { return false; }));
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace memarray::detail
