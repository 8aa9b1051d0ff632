#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/stream_order.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "handle_test.hpp"
#include "simulated_driver.hpp"

namespace memarray::test {
namespace {

class DevicePtrHandleTest : public HandleTest {
 protected:
  ContextHandle context = get_primary_context(0);
  StreamHandle stream = create_stream_handle(context);
};

TEST_F(DevicePtrHandleTest, EachKindOfMemoryIsFreedByItsMatchingCall) {
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  DevicePtrHandle from_pool = allocate_from_pool(pool, stream, 64);
  DevicePtrHandle device = allocate_device(context, 64);
  DevicePtrHandle managed = allocate_managed(context, 64);
  DevicePtrHandle pinned = allocate_pinned(context, 64);
  ASSERT_TRUE(from_pool && device && managed && pinned);
  EXPECT_EQ(devices.live().device_memory, 2);
  EXPECT_EQ(devices.live().managed_memory, 1);
  EXPECT_EQ(devices.live().pinned_memory, 1);
  EXPECT_EQ(calls_in("cuMemFreeAsync", [&] { from_pool.reset(); }), 1u);
  EXPECT_EQ(calls_in("cuMemFree", [&] { device.reset(); }), 1u);
  EXPECT_EQ(calls_in("cuMemFree", [&] { managed.reset(); }), 1u);
  EXPECT_EQ(calls_in("cuMemFreeHost", [&] { pinned.reset(); }), 1u);
}

TEST_F(DevicePtrHandleTest, HostCanAccessPinnedAndManagedMemory) {
  for (DevicePtrHandle const& pointer : {allocate_pinned(context, 4096), allocate_managed(context, 4096)}) {
    ASSERT_TRUE(pointer);
    std::memset(reinterpret_cast<void*>(as_intptr(pointer)), 7, 4096);
  }
}

TEST_F(DevicePtrHandleTest, KeepsPoolStreamAndContext) {
  MemoryPoolHandle pool = create_memory_pool_handle(0);
  DevicePtrHandle pointer = allocate_from_pool(pool, stream, 64);
  pool.reset();
  stream.reset();
  context.reset();
  testing::LiveResources const live = devices.live();
  EXPECT_EQ(live.pools, 1);
  EXPECT_EQ(live.streams, 1);
  pointer.reset();
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

// Pool memory that another stream copies slowly. Freed too early, the copy would read other contents.
class SlowCopyTest : public DevicePtrHandleTest {
 protected:
  static constexpr std::size_t bytes = 1 << 20;

  SlowCopyTest() {
    table.cuMemsetD8Async(as_cu(source), 9, bytes, as_cu(stream));
    table.cuStreamSynchronize(as_cu(stream));
  }

  void begin_copy() {
    gate.put(table, as_cu(other));
    table.cuMemcpyDtoHAsync(reinterpret_cast<void*>(as_intptr(target)), as_cu(source), bytes, as_cu(other));
  }
  void expect_copied() {
    gate.open();
    table.cuStreamSynchronize(as_cu(other));
    EXPECT_EQ(static_cast<unsigned char const*>(reinterpret_cast<void*>(as_intptr(target)))[bytes - 1], 9);
  }

  DriverTable const& table = *devices.table();
  detail::ContextScope scope{context};
  MemoryPoolHandle pool = create_memory_pool_handle(0);
  StreamHandle other = create_stream_handle(context);
  EventHandle done = create_event_handle(context);
  DevicePtrHandle target = allocate_pinned(context, bytes);
  DevicePtrHandle source = allocate_from_pool(pool, stream, bytes);
  Gate gate;
};

TEST_F(SlowCopyTest, MemoryIsFreedInTheOrderOfItsDeallocationStream) {
  EXPECT_EQ(deallocation_stream(source), stream);
  set_deallocation_stream(source, other);
  EXPECT_EQ(deallocation_stream(source), other);
  begin_copy();
  source.reset();
  expect_copied();
}

TEST_F(SlowCopyTest, MemoryIsFreedAfterRecordedWorkOfOtherStreams) {
  begin_copy();
  ASSERT_TRUE(record(done, other));
  ASSERT_TRUE(free_after(source, done));
  EXPECT_EQ(calls_in("cuStreamWaitEvent", [&] { source.reset(); }), 1u);
  EXPECT_EQ(devices.waits().back(), "cuStreamWaitEvent: memory that its last handle frees");
  expect_copied();
}

TEST_F(SlowCopyTest, HostSynchronizesIfTheStreamWaitFails) {
  begin_copy();
  ASSERT_TRUE(record(done, other));
  ASSERT_TRUE(free_after(source, done));
  devices.fail("cuStreamWaitEvent", 1, 999);
  gate.open();
  EXPECT_EQ(calls_in("cuEventSynchronize", [&] { source.reset(); }), 1u);
  EXPECT_EQ(peek_last_error(), 0) << "a release reports no error";
  devices.clear();
  expect_copied();
}

TEST_F(SlowCopyTest, PinnedMemoryIsFreedAfterTheHostSynchronizes) {
  devices.delay(std::chrono::milliseconds(20));
  begin_copy();
  ASSERT_TRUE(record(done, other));
  ASSERT_TRUE(free_after(target, done));
  gate.open();
  // Otherwise the copy would write to freed memory, a violation.
  EXPECT_EQ(calls_in("cuEventSynchronize", [&] { target.reset(); }), 1u);
}

TEST_F(DevicePtrHandleTest, OversizedAllocationIsOutOfMemory) {
  std::size_t const all = std::size_t{1} << 40;
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  EXPECT_FALSE(allocate_from_pool(pool, stream, all));
  EXPECT_EQ(get_last_error(), 2);
  EXPECT_FALSE(allocate_device(context, all));
  EXPECT_EQ(get_last_error(), 2);
}

TEST_F(DevicePtrHandleTest, ForeignMemoryIsNotFreed) {
  DevicePtrHandle const pointer = allocate_device(context, 64);
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = owner;
  {
    DevicePtrHandle const borrowed = create_device_ptr_handle_ref(as_cu(pointer));
    DevicePtrHandle const owned = create_device_ptr_handle_with_owner(as_cu(pointer), std::move(owner));
    EXPECT_EQ(as_cu(borrowed), as_cu(owned));
    EXPECT_FALSE(deallocation_stream(borrowed));
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(devices.live().device_memory, 1);
}

TEST_F(DevicePtrHandleTest, MemoryCanBeFreedFromAnyThread) {
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([pointer = allocate_from_pool(pool, stream, 1000)]() mutable { pointer.reset(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(devices.live().device_memory, 0);
}

TEST_F(DevicePtrHandleTest, PerThreadStreamIsWaitedForIfAnotherThreadFrees) {
  MemoryPoolHandle const pool = create_memory_pool_handle(0);
  for (bool const is_set_later : {false, true}) {
    DevicePtrHandle pointer = allocate_from_pool(pool, is_set_later ? stream : get_per_thread_stream(), 4096);
    if (is_set_later) {
      ASSERT_TRUE(synchronize(stream, context));
      set_deallocation_stream(pointer, get_per_thread_stream());
    }
    devices.delay(std::chrono::milliseconds(20));
    {
      detail::ContextScope const scope(context);
      ASSERT_EQ(scope.driver()->cuMemsetD8Async(*pointer, 1, 4096, *get_per_thread_stream()), 0);
    }
    std::thread([last = std::exchange(pointer, nullptr)]() mutable { last.reset(); }).join();
    ASSERT_TRUE(synchronize_all());
    EXPECT_TRUE(devices.violations().empty());
  }
}

TEST_F(DevicePtrHandleTest, AForkedChildSkipsTheDriver) {
  DevicePtrHandle pointer = allocate_device(context, 64);
  pid_t const child = fork();
  if (child == 0) {
    pointer.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(devices.live().device_memory, 1);
}

}  // namespace
}  // namespace memarray::test
