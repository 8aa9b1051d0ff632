#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

class EventHandleTest : public HandleTest {
 protected:
  ContextHandle context = get_primary_context(1);
};

TEST_F(EventHandleTest, KeepsItsContext) {
  EventHandle event = create_event_handle(context);
  ASSERT_TRUE(event);
  context.reset();
  EXPECT_EQ(device_id_of(context_of(event)), 1);
  EXPECT_EQ(devices.table()->cuEventQuery(as_cu(event)), 0) << "never recorded: nothing to wait for";
  event.reset();
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

TEST_F(EventHandleTest, HasTimingOnlyIfRequested) {
  StreamHandle const stream = create_stream_handle(context);
  for (bool const timing : {false, true}) {
    EventHandle const start = create_event_handle(context, timing);
    EventHandle const end = create_event_handle(context, timing);
    for (EventHandle const& event : {start, end}) devices.table()->cuEventRecord(as_cu(event), as_cu(stream));
    devices.table()->cuStreamSynchronize(as_cu(stream));
    float milliseconds = -1;
    EXPECT_EQ(devices.table()->cuEventElapsedTime(&milliseconds, as_cu(start), as_cu(end)), timing ? 0 : 400);
    if (timing) {
      EXPECT_GE(milliseconds, 0);
    }
  }
}

TEST_F(EventHandleTest, ForeignEventsAreNotDestroyed) {
  EventHandle const event = create_event_handle(context);
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = owner;
  {
    EventHandle const borrowed = create_event_handle_ref(as_cu(event), context);
    EventHandle const owned = create_event_handle_with_owner(as_cu(event), std::move(owner), context);
    EXPECT_EQ(as_cu(borrowed), as_cu(owned));
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(devices.live().events, 1);
}

TEST_F(EventHandleTest, FailuresSetTheLastError) {
  devices.fail("cuEventCreate", 1, 2);
  EXPECT_FALSE(create_event_handle(context));
  EXPECT_EQ(get_last_error(), 2);
  EXPECT_FALSE(create_event_handle(nullptr));
  EXPECT_EQ(get_last_error(), 201);
}

}  // namespace
}  // namespace memarray::test
