#include <memarray/base/reports.hpp>

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

class ReportsTest : public ::testing::Test {
 protected:
  void SetUp() override { static_cast<void>(take_reports()); }
};

TEST_F(ReportsTest, CopyIsCountedAndReported) {
  auto const copies = counters().copies.load();
  auto const bytes = counters().copied_bytes.load();
  EXPECT_FALSE(reports_pending());
  report_copy(4096, "an escaped view is alive");
  EXPECT_TRUE(reports_pending());
  EXPECT_EQ(counters().copies, copies + 1);
  EXPECT_EQ(counters().copied_bytes, bytes + 4096);
  auto const taken = take_reports();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].kind, Report::Kind::copy);
  EXPECT_EQ(taken[0].bytes, 4096);
  EXPECT_EQ(taken[0].message, "copied 4096 bytes: an escaped view is alive");
  EXPECT_FALSE(reports_pending());
  EXPECT_TRUE(take_reports().empty());
}

TEST_F(ReportsTest, WaitIsCountedAndReported) {
  auto const waits = counters().waits.load();
  report_wait("for a stream");
  EXPECT_EQ(counters().waits, waits + 1);
  auto const taken = take_reports();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].kind, Report::Kind::wait);
  EXPECT_EQ(taken[0].message, "waited: for a stream");
}

TEST_F(ReportsTest, FullQueueKeepsNewestReportsAndAllCounts) {
  auto const copies = counters().copies.load();
  for (int i = 0; i < 10'005; ++i) report_copy(i, "");
  EXPECT_EQ(counters().copies, copies + 10'005);
  auto const taken = take_reports();
  ASSERT_EQ(taken.size(), 10'000u);
  EXPECT_EQ(taken.front().bytes, 5);
  EXPECT_EQ(taken.back().bytes, 10'004);
}

TEST_F(ReportsTest, ReportsFromAllThreadsAreKept) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) report_copy(1, "");
    });
  std::size_t taken = 0;
  while (taken < 500) taken += take_reports().size();
  for (std::thread& thread : threads) thread.join();
  taken += take_reports().size();
  EXPECT_EQ(taken, 2000u);
}

}  // namespace
}  // namespace memarray::test
