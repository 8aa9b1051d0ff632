// After a fork, the child's one thread has its own leases still; those of threads that it lacks stay, and say so.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "array_test.hpp"

namespace memarray::test {
namespace {

class ForkTest : public ArrayTest {
 protected:
  /// 0 if `run` returned true in a child.
  static int in_child(std::function<bool()> const& run) {
    pid_t const child = fork();
    if (child == 0) {
      ::alarm(60);
      bool good = false;
      try {
        good = run();
      } catch (...) {
      }
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  MemArray<double, 1> array{{1 << 18}};
};

TEST_F(ForkTest, ArraysThreadsAndViewsWorkInTheChild) {
  for_each_index(array, default_stream(), [](double& e, auto const&) { e = 2; });  // so that threads exist
  View<double> const view = kept_read_only(array);
  EXPECT_EQ(in_child([&] {
              for_each_index(array, default_stream(), [](double& e, auto const&) { e += 1; });
              MemArray<double, 1> const fresh(array);
              return sum(array, default_stream()) == 3.0 * (1 << 18) && view.data()[7] == 2 && fresh({7}) == 3;
            }),
            0);
  EXPECT_EQ(array({7}), 2);
}

TEST_F(ForkTest, LeasesOfTheForkingThreadCarryOver) {
  auto lease = std::make_unique<WriteLease<double, 1>>(array);
  EXPECT_EQ(in_child([&] {
              lease->ptr()[0] = 5;
              array.write({1}, 6, lease->lock_id());
              lease.reset();
              array.fill(7);
              return array({0}) == 7;
            }),
            0);
  EXPECT_TRUE(lease->is_open());
  EXPECT_EQ(lease->ptr()[0], 0);
  lease.reset();
}

TEST_F(ForkTest, LeasesOfOtherThreadsStayRefusedAndSaySo) {
  std::atomic<int> step{0};
  std::thread holder([&] {
    WriteLease<double, 1> const lease(array);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              try {
                array.fill(1);
              } catch (LockError const& error) {
                return std::string(error.what()).find("fork") != std::string::npos;
              }
              return false;
            }),
            0);
  step = 2;
  holder.join();
  array.fill(1);
}

// A writer that waited in the parent must not hold the child's readers back for ever.
TEST_F(ForkTest, WritersThatWaitInTheParentDoNotWaitInTheChild) {
  auto lease = std::make_unique<ReadLease<double, 1>>(array);
  std::thread writer([&] { WriteLease<double, 1> const late(array, {.timeout = std::nullopt}); });
  while (!array.state().word().writer_waits()) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              ReadLease const second(array);
              return second.is_open() && sum(array, default_stream()) == 0;
            }),
            0);
  EXPECT_THROW(ReadLease{array}, LockError);
  lease.reset();
  writer.join();
}

}  // namespace
}  // namespace memarray::test
