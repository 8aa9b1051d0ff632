#include <memarray/detail/base/fork_lock.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace memarray::detail {
namespace {

TEST(ForkLock, ExcludesOtherThreads) {
  ForkLock lock;
  long plain = 0;
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20000; ++round) {
        EXPECT_TRUE(lock.lock());
        ++plain;
        lock.unlock();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(plain, 80000);
}

TEST(ForkLock, ForkedChildAcquiresLockHeldBeforeFork) {
  ForkLock lock;
  ASSERT_TRUE(lock.lock());
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    bool const whole = lock.lock();
    lock.unlock();
    bool const whole_again = lock.lock();
    lock.unlock();
    _exit(!whole && whole_again ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  lock.unlock();
}

TEST(ForkLockGuard, AbandonsDataLockedDuringFork) {
  ForkLock lock;
  std::vector<int> data(100, 1);
  auto const hold = [&]() -> ForkLockGuard { return {lock, [&] { abandon(data); }}; };
  {
    auto const locked = hold();
    EXPECT_EQ(data.size(), 100U);
  }
  ASSERT_TRUE(lock.lock());
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    bool emptied = false;
    {
      auto const locked = hold();
      emptied = data.empty();
      data.push_back(2);
    }
    auto const locked = hold();
    _exit(emptied && data.size() == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  lock.unlock();
  EXPECT_EQ(data.size(), 100U);
}

}  // namespace
}  // namespace memarray::detail
