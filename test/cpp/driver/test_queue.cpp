#include <memarray/base/errors.hpp>
#include <memarray/detail/driver/queue.hpp>
#include <memarray/driver/stream_order.hpp>

#include <thread>

#include "handle_test.hpp"

namespace memarray {
namespace {

using detail::Queue;
using detail::queue_on;

class QueueTest : public test::HandleTest {
 protected:
  ~QueueTest() override { context = other = nullptr; }
  ContextHandle context = get_primary_context(0);
  ContextHandle other = get_primary_context(1);
};

TEST_F(QueueTest, ADefaultStreamIsAnotherInEachContext) {
  EXPECT_TRUE(queue_on(default_stream(), context).is(queue_on(get_legacy_stream(), context)));
  EXPECT_FALSE(queue_on(default_stream(), context).is(queue_on(default_stream(), other)));
  EXPECT_FALSE(queue_on(default_stream(), context).is(queue_on(get_per_thread_stream(), context)));
}

TEST_F(QueueTest, AThreadsOwnStreamIsAnotherOnEachThread) {
  Queue const here = queue_on(get_per_thread_stream(), context);
  EXPECT_TRUE(here.is(queue_on(get_per_thread_stream(), context)));
  Queue there;
  std::thread([&] { there = queue_on(get_per_thread_stream(), context); }).join();
  EXPECT_FALSE(here.is(there));
}

TEST_F(QueueTest, AStreamThatItsHandleDoesNotKeepIsNeverRecognised) {
  StreamHandle const stream = create_stream_handle(context);
  StreamHandle const borrowed = create_stream_handle_ref(*stream, context);
  StreamHandle const owned = create_stream_handle_with_owner(*stream, stream, context);
  EXPECT_TRUE(queue_on(stream, context).is(queue_on(stream, context)));
  EXPECT_TRUE(queue_on(stream, context).is(queue_on(owned, context)));
  EXPECT_FALSE(queue_on(borrowed, context).is(queue_on(borrowed, context)));
  EXPECT_FALSE(queue_on(stream, context).is(queue_on(borrowed, context)));
}

TEST_F(QueueTest, StreamsOfOtherDevicesAndDriversAreRefused) {
  StreamHandle const stream = create_stream_handle(other);
  EXPECT_THROW(static_cast<void>(queue_on(stream, context)), ValueError);
  EXPECT_THROW(static_cast<void>(queue_on(nullptr, context)), ValueError);
  testing::SimulatedDevices const inner;
  EXPECT_THROW(static_cast<void>(queue_on(stream, get_primary_context(1))), ValueError);
}

TEST_F(QueueTest, WaitsInItsOwnContext) {
  // The default stream that waits is that of the queue's device, not of the event's.
  StreamHandle const stream = create_stream_handle(context);
  EventHandle const event = create_event_handle(context);
  ASSERT_TRUE(record(event, stream));
  detail::wait(queue_on(default_stream(), other), event, "here");
  EXPECT_EQ(devices.waits(), std::vector<std::string>{"cuStreamWaitEvent: here"});
  EXPECT_TRUE(synchronize(queue_on(default_stream(), other)));
  EXPECT_TRUE(detail::synchronize(context));
  EXPECT_FALSE(detail::synchronize(ContextHandle()));
}

TEST_F(QueueTest, AWaitThatFailsThrows) {
  StreamHandle const stream = create_stream_handle(context);
  EventHandle const event = create_event_handle(context);
  devices.fail("cuStreamWaitEvent", 1, 999, 1);
  EXPECT_THROW(detail::wait(queue_on(stream, context), event, "here"), CudaError);
  detail::wait(queue_on(stream, context), event, "here");
}

}  // namespace
}  // namespace memarray
