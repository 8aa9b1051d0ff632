#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/stream_order.hpp>

#include <chrono>
#include <cstddef>

#include "handle_test.hpp"
#include "simulated_driver.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

class StreamOrderTest : public HandleTest {
 protected:
  StreamOrderTest() { devices.table()->cuCtxPushCurrent(as_cu(context)); }
  ~StreamOrderTest() override {
    cu::Context popped = nullptr;
    devices.table()->cuCtxPopCurrent(&popped);
  }

  void set(StreamHandle const& stream, unsigned char value) {
    ASSERT_EQ(devices.table()->cuMemsetD8Async(as_cu(memory), value, bytes, as_cu(stream)), 0);
  }
  void fetch(StreamHandle const& stream) {
    ASSERT_EQ(devices.table()->cuMemcpyDtoHAsync(seen(), as_cu(memory), bytes, as_cu(stream)), 0);
  }
  [[nodiscard]] unsigned char* seen() { return reinterpret_cast<unsigned char*>(as_intptr(pinned)); }

  static constexpr std::size_t bytes = 4096;
  ContextHandle context = get_primary_context(0);
  StreamHandle first = create_stream_handle(context);
  StreamHandle second = create_stream_handle(context);
  EventHandle event = create_event_handle(context);
  DevicePtrHandle memory = allocate_device(context, bytes);
  DevicePtrHandle pinned = allocate_pinned(context, bytes);
};

TEST_F(StreamOrderTest, WaitingStreamRunsAfterTheRecordedWork) {
  set(first, 1);
  ASSERT_TRUE(synchronize(first, context));
  devices.delay(20ms);
  set(first, 2);
  ASSERT_TRUE(record(event, first));
  ASSERT_TRUE(wait(second, event));
  fetch(second);
  ASSERT_TRUE(synchronize(second, context));
  EXPECT_EQ(seen()[bytes - 1], 2);
}

// Proves that the test before depends on the wait.
TEST_F(StreamOrderTest, ReaderWithoutAWaitSeesTheOldContents) {
  SKIP_AS_IT_RACES();
  set(first, 1);
  ASSERT_TRUE(synchronize(first, context));
  Gate gate(*devices.table(), as_cu(first));
  set(first, 2);
  fetch(second);
  ASSERT_TRUE(synchronize(second, context));
  EXPECT_EQ(seen()[bytes - 1], 1);
  gate.open();
  ASSERT_TRUE(synchronize(first, context));
}

TEST_F(StreamOrderTest, WaitForANullEventMakesNoDriverCall) {
  EXPECT_EQ(calls_in("", [&] { EXPECT_TRUE(wait(first, nullptr)); }), 0u);
}

TEST_F(StreamOrderTest, WaitAndRecordMakeOneDriverCallEach) {
  ASSERT_TRUE(record(event, first));
  EXPECT_EQ(calls_in("cuStreamWaitEvent", [&] { EXPECT_TRUE(wait(second, event)); }), 1u);
  EXPECT_EQ(calls_in("cuEventRecord", [&] { EXPECT_TRUE(record(event, first)); }), 1u);
}

TEST_F(StreamOrderTest, DefaultStreamBelongsToTheEventsContext) {
  ContextHandle const other = get_primary_context(1);
  EventHandle const of_other = create_event_handle(other);
  ASSERT_TRUE(record(of_other, default_stream()));
  ASSERT_TRUE(wait(default_stream(), of_other));
  ASSERT_TRUE(synchronize(default_stream(), other));
}

TEST_F(StreamOrderTest, QueryIsTrueOnceTheWorkHasCompleted) {
  EXPECT_EQ(query(event), true) << "never recorded";
  Gate gate(*devices.table(), as_cu(first));
  set(first, 3);
  ASSERT_TRUE(record(event, first));
  EXPECT_EQ(query(event), false);
  EXPECT_EQ(peek_last_error(), 0) << "not ready is no error";
  gate.open();
  ASSERT_TRUE(synchronize(event));
  EXPECT_EQ(query(event), true);
}

TEST_F(StreamOrderTest, TimesAreInSeconds) {
  EventHandle const start = create_event_handle(context, true);
  EventHandle const end = create_event_handle(context, true);
  ASSERT_TRUE(record(start, first));
  devices.delay(20ms);
  set(first, 4);
  ASSERT_TRUE(record(end, first));
  ASSERT_TRUE(synchronize(end));
  auto const seconds = elapsed(start, end);
  ASSERT_TRUE(seconds);
  EXPECT_GE(*seconds, 0.02);
  EXPECT_LT(*seconds, 20.0) << "milliseconds would be more";
  EXPECT_FALSE(elapsed(event, end)) << "made without timing";
  EXPECT_EQ(get_last_error(), 400);
}

TEST_F(StreamOrderTest, TimeBetweenEventsOfTwoDriversIsRefused) {
  EventHandle const start = create_event_handle(context, true);
  ASSERT_TRUE(record(start, first));
  testing::SimulatedDevices const inner({.count = 1});
  ContextHandle const other = get_primary_context(0);
  EventHandle const end = create_event_handle(other, true);
  ASSERT_TRUE(record(end, create_stream_handle(other)));
  EXPECT_FALSE(elapsed(start, end));
  EXPECT_EQ(get_last_error(), 400);
  EXPECT_FALSE(elapsed(end, start));
  EXPECT_EQ(get_last_error(), 400);
}

TEST_F(StreamOrderTest, NullHandlesAreRefused) {
  EXPECT_FALSE(record(nullptr, first));
  EXPECT_EQ(get_last_error(), 201);
  EXPECT_FALSE(record(event, nullptr));
  EXPECT_EQ(get_last_error(), 400);
  EXPECT_FALSE(wait(nullptr, event));
  EXPECT_FALSE(synchronize(EventHandle()));
  EXPECT_FALSE(synchronize(StreamHandle(), context));
  EXPECT_EQ(query(nullptr), std::nullopt);
  EXPECT_FALSE(context_of(StreamHandle()));
}

// A simulated handle is an invalid address to a real driver, and vice versa.
TEST_F(StreamOrderTest, HandlesOfAnotherDriverAreRefused) {
  testing::SimulatedDevices inner;
  {
    StreamHandle const stream = create_stream_handle(get_primary_context(0));
    EXPECT_FALSE(record(event, stream));
    EXPECT_EQ(get_last_error(), 400);
    EXPECT_FALSE(wait(stream, event));
    EXPECT_EQ(get_last_error(), 400);
  }
  EXPECT_EQ(inner.live(), testing::LiveResources());
}

TEST_F(StreamOrderTest, FailuresSetTheLastError) {
  for (char const* const function :
       {"cuEventRecord", "cuStreamWaitEvent", "cuEventSynchronize", "cuStreamSynchronize", "cuEventQuery"})
    devices.fail(function, 1, 719);
  EXPECT_FALSE(record(event, first));
  EXPECT_EQ(get_last_error(), 719);
  EXPECT_FALSE(wait(first, event));
  EXPECT_FALSE(synchronize(event));
  EXPECT_FALSE(synchronize(first, context));
  EXPECT_EQ(query(event), std::nullopt);
  EXPECT_EQ(get_last_error(), 719);
}

}  // namespace
}  // namespace memarray::test
