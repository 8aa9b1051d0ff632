#include <memarray/driver/context_handle.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

class ContextHandleTest : public HandleTest {};

TEST_F(ContextHandleTest, PrimaryContextIsRetainedOnceAndShared) {
  ContextHandle const first = get_primary_context(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(calls_in("cuDevicePrimaryCtxRetain", [&] { EXPECT_EQ(as_cu(get_primary_context(0)), as_cu(first)); }), 0u);
  EXPECT_NE(as_cu(get_primary_context(1)), as_cu(first));
  EXPECT_EQ(device_id_of(first), 0);
  EXPECT_EQ(devices.live().contexts, 1) << "the context of device 1 was released";
}

TEST_F(ContextHandleTest, ConcurrentFirstCallsShareOnePrimaryContext) {
  std::vector<ContextHandle> found(8);
  std::vector<std::thread> threads;
  for (ContextHandle& context : found) threads.emplace_back([&context] { context = get_primary_context(0); });
  for (std::thread& thread : threads) thread.join();
  for (ContextHandle const& context : found) EXPECT_EQ(as_cu(context), as_cu(found.front()));
}

TEST_F(ContextHandleTest, MissingDeviceSetsInvalidDeviceError) {
  for (int const device : {-1, 2, 1000}) {
    EXPECT_FALSE(get_primary_context(device));
    EXPECT_EQ(get_last_error(), 101);
    EXPECT_FALSE(create_context_handle(device));
    EXPECT_EQ(get_last_error(), 101);
  }
}

TEST_F(ContextHandleTest, CreatedContextIsNotMadeCurrent) {
  ContextHandle const context = create_context_handle(1);
  ASSERT_TRUE(context);
  EXPECT_EQ(device_id_of(context), 1);
  EXPECT_FALSE(get_current_context());
  EXPECT_EQ(get_last_error(), 201);
  EXPECT_EQ(devices.live().contexts, 1);
}

TEST_F(ContextHandleTest, CurrentContextIsBorrowed) {
  ContextHandle const context = create_context_handle(0);
  devices.table()->cuCtxPushCurrent(as_cu(context));
  {
    ContextHandle const current = get_current_context();
    ASSERT_TRUE(current);
    EXPECT_EQ(as_cu(current), as_cu(context));
    EXPECT_EQ(device_id_of(current), 0);
  }
  EXPECT_EQ(devices.live().contexts, 1);
  cu::Context popped = nullptr;
  devices.table()->cuCtxPopCurrent(&popped);
}

TEST_F(ContextHandleTest, HandleOfForeignContextKeepsItsOwnerAlive) {
  ContextHandle const context = create_context_handle(0);
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = owner;
  ContextHandle foreign = create_context_handle_with_owner(as_cu(context), std::move(owner));
  EXPECT_FALSE(watch.expired());
  foreign.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(devices.live().contexts, 1) << "it was not ours to destroy";
}

TEST_F(ContextHandleTest, NullContextIsRefused) {
  EXPECT_FALSE(create_context_handle_ref(nullptr));
  EXPECT_EQ(get_last_error(), 201);
  EXPECT_EQ(driver_of(nullptr), nullptr);
}

TEST_F(ContextHandleTest, FailedCreationLeavesNoContext) {
  for (char const* const function : {"cuDeviceGet", "cuDevicePrimaryCtxRetain"}) {
    devices.fail(function, 1, 304);
    EXPECT_FALSE(get_primary_context(0)) << function;
    EXPECT_EQ(get_last_error(), 304);
    devices.clear();
  }
  for (char const* const function : {"cuDeviceGet", "cuCtxCreate"}) {
    devices.fail(function, 1, 304);
    EXPECT_FALSE(create_context_handle(0)) << function;
    EXPECT_EQ(get_last_error(), 304);
    devices.clear();
  }
  EXPECT_EQ(devices.live().contexts, 0);
}

TEST_F(ContextHandleTest, ForkedChildGetsAnErrorAndSkipsTheDriver) {
  ContextHandle context = get_primary_context(0);
  pid_t const child = fork();
  if (child == 0) {
    bool const refused = driver_of(context) == nullptr && !get_primary_context(0) && get_last_error() == 3;
    context.reset();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(driver_of(context));
}

TEST(ContextHandleNestedDevicesTest, EachContextIsReleasedToItsOwnDevices) {
  testing::SimulatedDevices outer;
  ContextHandle const of_outer = get_primary_context(0);
  ContextHandle of_inner;
  {
    testing::SimulatedDevices inner;
    of_inner = get_primary_context(0);
    ContextHandle again = get_primary_context(1);
    EXPECT_EQ(inner.live().contexts, 2);
    inner.end();
    again.reset();
    EXPECT_EQ(inner.live().contexts, 1);
    of_inner.reset();
    EXPECT_EQ(inner.live().contexts, 0);
  }
  EXPECT_EQ(outer.live().contexts, 1);
  EXPECT_TRUE(outer.violations().empty());
}

}  // namespace
}  // namespace memarray::test
