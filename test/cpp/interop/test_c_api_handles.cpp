#include "c_api_test.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

TEST_F(CApiTest, RefsAreCounted) {
  MemArrayContextRef const context = api.get_primary_context(1);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(api.context_device_id(context), 1);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(api.retain_stream(stream), stream);
  EXPECT_EQ(devices.live().streams, 1);
  api.release_stream(stream);
  EXPECT_EQ(devices.live().streams, 1);
  EXPECT_NE(api.stream_as_intptr(stream), 0);
  // The stream keeps its context alive.
  api.release_context(context);
  EXPECT_EQ(devices.live().contexts, 1);
  MemArrayContextRef const its_context = api.stream_context(stream);
  EXPECT_EQ(api.context_device_id(its_context), 1);
  api.release_context(its_context);
  api.release_stream(stream);
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

TEST_F(CApiTest, RefsAreCountedAcrossThreads) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayEventRef const event = api.create_event(context, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    // Each thread releases its own reference.
    api.retain_stream(stream);
    api.retain_event(event);
    threads.emplace_back([=] {
      for (int round = 0; round < 200; ++round) {
        MemArrayStreamRef const mine = api.retain_stream(stream);
        EXPECT_EQ(api.record_event(event, mine), 0);
        api.release_stream(mine);
      }
      api.release_event(event);
      api.release_stream(stream);
    });
  }
  api.release_event(event);
  api.release_stream(stream);
  api.release_context(context);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CApiTest, ContextsAreCreatedBorrowedAndOwned) {
  MemArrayContextRef const own = api.create_context(0, 0);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(devices.live().contexts, 1);
  EXPECT_EQ(api.get_current_context(), nullptr) << "making one does not make it current";
  expect_error(201);
  {
    ContextHandle const primary = get_primary_context(1);
    detail::ContextScope const scope(primary);
    MemArrayContextRef const current = api.get_current_context();
    EXPECT_EQ(api.context_as_intptr(current), as_intptr(primary));
    api.release_context(current);
  }
  MemArrayContextRef const borrowed = api.create_context_ref(api.context_as_intptr(own));
  EXPECT_EQ(api.context_as_intptr(borrowed), api.context_as_intptr(own));
  EXPECT_EQ(api.retain_context(borrowed), borrowed);
  api.release_context(borrowed);
  api.release_context(borrowed);
  EXPECT_EQ(api.create_context_ref(0), nullptr);
  expect_error(201);

  std::atomic<int> drops = 0;
  MemArrayContextRef const kept = api.create_context_with_owner(api.context_as_intptr(own), &drops, count);
  MemArrayStreamRef const stream = api.create_stream(kept, 1, 0);
  api.release_context(kept);
  EXPECT_EQ(drops, 0) << "the stream still needs it";
  api.release_stream(stream);
  EXPECT_EQ(drops, 1);
  api.release_context(own);
}

TEST_F(CApiTest, DefaultStreamsHaveNoContext) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayStreamRef const streams[] = {api.get_default_stream(), api.get_legacy_stream(), api.get_per_thread_stream()};
  for (std::intptr_t number = 0; number < 3; ++number) {
    MemArrayStreamRef const stream = streams[number];
    ASSERT_NE(stream, nullptr);
    EXPECT_EQ(api.stream_as_intptr(stream), number);
    EXPECT_EQ(api.stream_context(stream), nullptr);
    expect_error(none_there);
    EXPECT_EQ(api.synchronize_stream(stream, context), 0);
    EXPECT_EQ(api.synchronize_stream(stream, nullptr), -1) << "of which context?";
    expect_error(201);
    api.release_stream(stream);
  }
  EXPECT_EQ(api.synchronize_all(), 0);
  api.release_context(context);
}

TEST_F(CApiTest, ForeignStreamsAreNotDestroyed) {
  MemArrayContextRef const context = api.get_primary_context(1);
  MemArrayStreamRef const stream = api.create_stream(context, 0, -1);
  std::intptr_t const raw = api.stream_as_intptr(stream);
  MemArrayStreamRef const borrowed = api.create_stream_ref(raw, nullptr);
  EXPECT_EQ(api.stream_as_intptr(borrowed), raw);
  MemArrayContextRef const found = api.stream_context(borrowed);
  EXPECT_EQ(api.context_device_id(found), 1) << "the driver was asked for it";
  api.release_context(found);
  api.release_stream(borrowed);

  std::atomic<int> drops = 0;
  MemArrayStreamRef const kept = api.create_stream_with_owner(raw, &drops, count, context);
  EXPECT_EQ(api.retain_stream(kept), kept);
  api.release_stream(kept);
  EXPECT_EQ(drops, 0);
  std::thread([&] { api.release_stream(kept); }).join();
  EXPECT_EQ(drops, 1);
  // There is no owner to keep, and no callback at the end.
  api.release_stream(api.create_stream_with_owner(raw, nullptr, nullptr, context));
  EXPECT_EQ(devices.live().streams, 1) << "none of them destroyed it";
  api.release_stream(stream);
  api.release_context(context);
}

TEST_F(CApiTest, OwnerIsDroppedWhenCallFails) {
  std::atomic<int> drops = 0;
  EXPECT_EQ(api.create_context_with_owner(0, &drops, count), nullptr);
  EXPECT_EQ(drops, 1);
  expect_error(201);
  EXPECT_EQ(api.create_event_with_owner(64, &drops, count, nullptr), nullptr);
  EXPECT_EQ(drops, 2);
  expect_error(invalid_handle);
  EXPECT_EQ(api.create_memory_pool_with_owner(64, &drops, count, 9), nullptr);
  EXPECT_EQ(drops, 3);
  expect_error(101);
  devices.fail("cuStreamGetCtx", 1, 2);
  EXPECT_EQ(api.create_stream_with_owner(64, &drops, count, nullptr), nullptr);
  EXPECT_EQ(drops, 4);
  expect_error(2);
}

TEST_F(CApiTest, EventsOrderStreamsAndMeasureTime) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayStreamRef const other = api.create_stream(context, 1, 0);
  MemArrayEventRef const start = api.create_event(context, 1);
  MemArrayEventRef const end = api.create_event(context, 1);
  EXPECT_EQ(api.query_event(start), 1) << "never recorded: nothing to wait for";
  EXPECT_EQ(api.record_event(start, stream), 0);
  EXPECT_EQ(calls_in("cuStreamWaitEvent", [&] { EXPECT_EQ(api.wait_event(other, start), 0); }), 1u);
  EXPECT_EQ(api.record_event(end, other), 0);
  EXPECT_EQ(calls_in("cuEventSynchronize", [&] { EXPECT_EQ(api.synchronize_event(end), 0); }), 1u);
  EXPECT_EQ(api.query_event(end), 1);
  double seconds = -1;
  EXPECT_EQ(api.elapsed(start, end, &seconds), 0);
  EXPECT_GE(seconds, 0);
  MemArrayContextRef const its_context = api.event_context(end);
  EXPECT_EQ(api.context_as_intptr(its_context), api.context_as_intptr(context));
  api.release_context(its_context);

  MemArrayEventRef const borrowed = api.create_event_ref(api.event_as_intptr(end), context);
  EXPECT_EQ(api.query_event(borrowed), 1);
  api.release_event(borrowed);
  std::atomic<int> drops = 0;
  MemArrayEventRef const kept = api.create_event_with_owner(api.event_as_intptr(end), &drops, count, context);
  EXPECT_EQ(api.synchronize_event(kept), 0);
  EXPECT_EQ(drops, 0);
  api.release_event(kept);
  EXPECT_EQ(drops, 1);

  api.release_event(api.retain_event(end));
  for (MemArrayEventRef event : {start, end}) api.release_event(event);
  for (MemArrayStreamRef each : {stream, other}) api.release_stream(each);
  api.release_context(context);
}

TEST_F(CApiTest, AllocatedMemoryKeepsPoolAndStreamAlive) {
  MemArrayMemoryPoolRef const pool = api.create_memory_pool(1, UINT64_MAX, 0);
  ASSERT_NE(pool, nullptr);
  MemArrayContextRef const context = api.memory_pool_context(pool);
  EXPECT_EQ(api.context_device_id(context), 1);
  MemArrayStreamRef const stream = api.create_stream(context, 1, 0);
  MemArrayDevicePtrRef const memory = api.allocate_from_pool(pool, stream, 1000);
  ASSERT_NE(memory, nullptr);
  MemArrayMemoryPoolStatistics now = {};
  EXPECT_EQ(api.get_memory_pool_statistics(pool, &now), 0);
  EXPECT_GE(now.used, 1000u);
  EXPECT_GE(now.reserved, now.used);
  EXPECT_GE(now.used_high, now.used);
  EXPECT_GE(now.reserved_high, now.reserved);
  // The memory keeps its pool and its stream alive.
  api.release_stream(stream);
  MemArrayMemoryPoolRef const again = api.retain_memory_pool(pool);
  api.release_memory_pool(again);
  EXPECT_EQ(api.set_release_threshold(pool, 0), 0);
  api.release_memory_pool(pool);
  EXPECT_EQ(devices.live().pools, 1);
  EXPECT_EQ(devices.live().streams, 1);
  api.release_device_ptr(memory);
  EXPECT_EQ(devices.live().pools, 0);
  api.release_context(context);
}

TEST_F(CApiTest, ForeignPoolReleaseDropsOwner) {
  MemArrayMemoryPoolRef const own = api.get_device_memory_pool(0);
  ASSERT_NE(own, nullptr);
  std::intptr_t const raw = api.memory_pool_as_intptr(own);
  MemArrayMemoryPoolRef const borrowed = api.create_memory_pool_ref(raw, 0);
  EXPECT_EQ(calls_in("cuMemPoolTrimTo", [&] { EXPECT_EQ(api.trim_memory_pool(borrowed, 0), 0); }), 1u);
  api.release_memory_pool(borrowed);
  std::atomic<int> drops = 0;
  MemArrayMemoryPoolRef const kept = api.create_memory_pool_with_owner(raw, &drops, count, 0);
  EXPECT_EQ(api.memory_pool_as_intptr(kept), raw);
  api.release_memory_pool(kept);
  EXPECT_EQ(drops, 1);
  api.release_memory_pool(own);
  EXPECT_EQ(api.create_memory_pool(9, 0, 0), nullptr);
  expect_error(101);
  EXPECT_EQ(api.get_device_memory_pool(-1), nullptr);
  expect_error(101);
}

TEST_F(CApiTest, MemoryOfEachKindIsAllocatedAndReleased) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayDevicePtrRef const device = api.allocate_device(context, 64);
  MemArrayDevicePtrRef const managed = api.allocate_managed(context, 64);
  MemArrayDevicePtrRef const pinned = api.allocate_pinned(context, 64);
  EXPECT_EQ(devices.live().device_memory, 1);
  EXPECT_EQ(devices.live().managed_memory, 1);
  EXPECT_EQ(devices.live().pinned_memory, 1);
  std::memset(reinterpret_cast<void*>(api.device_ptr_as_intptr(pinned)), 1, 64);
  for (MemArrayDevicePtrRef pointer : {device, managed, pinned}) {
    EXPECT_NE(api.device_ptr_as_intptr(pointer), 0);
    EXPECT_EQ(api.deallocation_stream(pointer), nullptr);
    expect_error(none_there);
    api.release_device_ptr(api.retain_device_ptr(pointer));
  }
  std::intptr_t const raw = api.device_ptr_as_intptr(device);
  MemArrayDevicePtrRef const borrowed = api.create_device_ptr_ref(raw);
  EXPECT_EQ(api.device_ptr_as_intptr(borrowed), raw);
  api.release_device_ptr(borrowed);
  std::atomic<int> drops = 0;
  MemArrayDevicePtrRef const kept = api.create_device_ptr_with_owner(raw, &drops, count);
  EXPECT_EQ(drops, 0);
  api.release_device_ptr(kept);
  EXPECT_EQ(drops, 1);
  for (MemArrayDevicePtrRef pointer : {device, managed, pinned}) api.release_device_ptr(pointer);
  EXPECT_EQ(api.allocate_device(context, std::numeric_limits<std::size_t>::max()), nullptr);
  expect_error(2);
  api.release_context(context);
}

TEST_F(CApiTest, MemoryIsFreedOnDeallocationStreamAfterEvent) {
  MemArrayContextRef const context = api.get_primary_context(0);
  MemArrayMemoryPoolRef const pool = api.get_device_memory_pool(0);
  MemArrayStreamRef const first = api.create_stream(context, 1, 0);
  MemArrayStreamRef const last = api.create_stream(context, 1, 0);
  MemArrayEventRef const event = api.create_event(context, 0);
  MemArrayDevicePtrRef const memory = api.allocate_from_pool(pool, first, 64);
  EXPECT_EQ(api.set_deallocation_stream(memory, last), 0);
  MemArrayStreamRef const found = api.deallocation_stream(memory);
  EXPECT_EQ(api.stream_as_intptr(found), api.stream_as_intptr(last));
  api.release_stream(found);
  EXPECT_EQ(api.record_event(event, first), 0);
  EXPECT_EQ(api.free_after(memory, event), 0);
  EXPECT_EQ(calls_in("cuStreamWaitEvent", [&] { api.release_device_ptr(memory); }), 1u);
  api.release_event(event);
  for (MemArrayStreamRef stream : {first, last}) api.release_stream(stream);
  api.release_memory_pool(pool);
  api.release_context(context);
}

}  // namespace
}  // namespace memarray::test
