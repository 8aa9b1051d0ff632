#include <memarray/state/timeout.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>

namespace memarray::test {
namespace {

using detail::Deadline;
using namespace std::chrono_literals;

TEST(DeadlineTest, ZeroOrNegativeTimeoutLeavesNoTime) {
  EXPECT_EQ(Deadline(no_wait).rest(), no_wait);
  EXPECT_EQ(Deadline(-5s).rest(), no_wait);
  EXPECT_EQ(Deadline(std::chrono::nanoseconds::min()).rest(), no_wait);
}

TEST(DeadlineTest, DeadlineWithoutTimeoutNeverExpires) { EXPECT_EQ(Deadline(std::nullopt).rest(), std::nullopt); }

TEST(DeadlineTest, TimeoutBeyondClockRangeIsUnlimited) {
  EXPECT_EQ(Deadline(std::chrono::nanoseconds::max()).rest(), std::nullopt);
  EXPECT_EQ(Deadline(std::chrono::hours(24 * 365 * 101)).rest(), std::nullopt);
  EXPECT_TRUE(Deadline(std::chrono::hours(24 * 365 * 99)).rest().has_value());
}

TEST(DeadlineTest, RemainingTimeRunsDownToZero) {
  Deadline const deadline(20ms);
  Timeout const first = deadline.rest();
  ASSERT_TRUE(first);
  EXPECT_LE(*first, 20ms);
  std::this_thread::sleep_for(25ms);
  EXPECT_EQ(deadline.rest(), no_wait);
}

}  // namespace
}  // namespace memarray::test
