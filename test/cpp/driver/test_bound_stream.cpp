#include <memarray/base/errors.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/stream_order.hpp>

#include <string>
#include <thread>

#include "handle_test.hpp"

namespace memarray {
namespace {

using detail::bind_stream;
using detail::BoundStream;

class BoundStreamTest : public test::HandleTest {
 protected:
  ~BoundStreamTest() override { context = other = nullptr; }
  ContextHandle context = get_primary_context(0);
  ContextHandle other = get_primary_context(1);
};

TEST_F(BoundStreamTest, DefaultStreamsOfDifferentContextsAreDistinct) {
  EXPECT_TRUE(bind_stream(default_stream(), context).is(bind_stream(get_legacy_stream(), context)));
  EXPECT_FALSE(bind_stream(default_stream(), context).is(bind_stream(default_stream(), other)));
  EXPECT_FALSE(bind_stream(default_stream(), context).is(bind_stream(get_per_thread_stream(), context)));
}

TEST_F(BoundStreamTest, PerThreadStreamsOfDifferentThreadsAreDistinct) {
  BoundStream const here = bind_stream(get_per_thread_stream(), context);
  EXPECT_TRUE(here.is(bind_stream(get_per_thread_stream(), context)));
  BoundStream there;
  std::thread([&] { there = bind_stream(get_per_thread_stream(), context); }).join();
  EXPECT_FALSE(here.is(there));
}

TEST_F(BoundStreamTest, BorrowedStreamNeverComparesEqual) {
  StreamHandle const stream = create_stream_handle(context);
  StreamHandle const borrowed = create_stream_handle_ref(*stream, context);
  StreamHandle const owned = create_stream_handle_with_owner(*stream, stream, context);
  EXPECT_TRUE(bind_stream(stream, context).is(bind_stream(stream, context)));
  EXPECT_TRUE(bind_stream(stream, context).is(bind_stream(owned, context)));
  EXPECT_FALSE(bind_stream(borrowed, context).is(bind_stream(borrowed, context)));
  EXPECT_FALSE(bind_stream(stream, context).is(bind_stream(borrowed, context)));
}

TEST_F(BoundStreamTest, StreamsOfOtherDevicesAndDriversAreRefused) {
  StreamHandle const stream = create_stream_handle(other);
  EXPECT_THROW(static_cast<void>(bind_stream(stream, context)), ValueError);
  testing::SimulatedDevices const inner;
  EXPECT_THROW(static_cast<void>(bind_stream(stream, get_primary_context(1))), ValueError);
}

TEST_F(BoundStreamTest, NullStreamIsRefusedWithTheCallToMake) {
  try {
    static_cast<void>(bind_stream(nullptr, context));
    FAIL() << "a null stream was bound";
  } catch (ValueError const& error) {
    EXPECT_NE(std::string(error.what()).find("for the default stream pass default_stream()"), std::string::npos)
        << error.what();
  }
}

TEST_F(BoundStreamTest, WaitsInItsOwnContext) {
  // The default stream is that of the bound stream's device, not of the event's.
  StreamHandle const stream = create_stream_handle(context);
  EventHandle const event = create_event_handle(context);
  ASSERT_TRUE(record(event, stream));
  detail::wait(bind_stream(default_stream(), other), event, "here");
  EXPECT_EQ(devices.waits(), std::vector<std::string>{"cuStreamWaitEvent: here"});
  EXPECT_TRUE(synchronize(bind_stream(default_stream(), other)));
  EXPECT_TRUE(detail::synchronize(context));
  EXPECT_FALSE(detail::synchronize(ContextHandle()));
}

TEST_F(BoundStreamTest, AWaitThatFailsThrows) {
  StreamHandle const stream = create_stream_handle(context);
  EventHandle const event = create_event_handle(context);
  devices.fail("cuStreamWaitEvent", 1, 999, 1);
  EXPECT_THROW(detail::wait(bind_stream(stream, context), event, "here"), CudaError);
  detail::wait(bind_stream(stream, context), event, "here");
}

}  // namespace
}  // namespace memarray
