#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace memarray::test {
namespace {

// A runtime whose lock only the test's thread holds.
thread_local bool holds = false;
int released = 0;
int reacquired = 0;
bool interrupted = false;

class HooksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    released = reacquired = 0;
    interrupted = false;
    holds = true;
    set_hooks({.release = []() noexcept -> void* { return holds ? (++released, holds = false, &holds) : nullptr; },
               .reacquire =
                   [](void* token) noexcept {
                     ++reacquired;
                     *static_cast<bool*>(token) = true;
                   },
               .poll_signals = [](void*&) noexcept { return !interrupted; }});
  }
  void TearDown() override { set_hooks(before); }
  Hooks before = hooks();
};

TEST_F(HooksTest, ScopeReleasesRuntimeLock) {
  {
    RuntimeRelease const scope;
    EXPECT_FALSE(holds);
    RuntimeRelease const nested;  // no lock left to release
    EXPECT_EQ(released, 1);
  }
  EXPECT_TRUE(holds);
  EXPECT_EQ(reacquired, 1);
}

TEST_F(HooksTest, ThreadWithoutRuntimeLockReleasesNothing) {
  std::thread([] { RuntimeRelease const scope; }).join();
  EXPECT_EQ(released, 0);
  EXPECT_EQ(reacquired, 0);
}

TEST_F(HooksTest, SignalsEndAWait) {
  RuntimeRelease scope;
  EXPECT_NO_THROW(scope.poll_signals());
  interrupted = true;
  EXPECT_THROW(scope.poll_signals(), Interrupted);
}

TEST_F(HooksTest, ForeignCodeIsCalledThroughHookIfSet) {
  static int aside = 0;
  int called = 0;
  auto const call = [](void* object) { ++*static_cast<int*>(object); };
  call_aside(call, &called);
  EXPECT_EQ(called, 1);
  set_hooks({.call_aside = [](void (*other)(void*), void* object) noexcept {
    ++aside;
    other(object);
  }});
  call_aside(call, &called);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(aside, 1);
}

TEST_F(HooksTest, WithoutHooksScopeDoesNothing) {
  set_hooks({});
  RuntimeRelease scope;
  EXPECT_NO_THROW(scope.poll_signals());
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace memarray::test
