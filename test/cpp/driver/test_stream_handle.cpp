#include <memarray/driver/stream_handle.hpp>

#include <type_traits>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

// A stream cannot be made from a number or a null pointer by accident.
static_assert(!std::is_convertible_v<int, StreamHandle>);
static_assert(!std::is_convertible_v<cu::Stream, StreamHandle>);

TEST(DefaultStreamTest, NeedsNoDriver) {
  EXPECT_TRUE(default_stream());
  EXPECT_EQ(as_cu(default_stream()), nullptr);
  EXPECT_EQ(as_intptr(get_legacy_stream()), 1);
  EXPECT_EQ(as_intptr(get_per_thread_stream()), 2);
  EXPECT_FALSE(context_of(default_stream()));
}

class StreamHandleTest : public HandleTest {
 protected:
  ContextHandle context = get_primary_context(0);
};

TEST_F(StreamHandleTest, KeepsItsContext) {
  StreamHandle stream = create_stream_handle(context);
  ASSERT_TRUE(stream);
  context.reset();
  EXPECT_EQ(devices.live().contexts, 1);
  EXPECT_EQ(device_id_of(context_of(stream)), 0);
  EXPECT_EQ(devices.table()->cuStreamSynchronize(as_cu(stream)), 0);
  stream.reset();
  EXPECT_EQ(devices.live(), testing::LiveResources());
}

TEST_F(StreamHandleTest, HasTheRequestedFlagsAndPriority) {
  for (bool const nonblocking : {false, true}) {
    StreamHandle const stream = create_stream_handle(context, nonblocking, -1);
    unsigned flags = 7;
    int priority = 7;
    EXPECT_EQ(devices.table()->cuStreamGetFlags(as_cu(stream), &flags), 0);
    EXPECT_EQ(flags, nonblocking ? 1u : 0u);
    EXPECT_EQ(devices.table()->cuStreamGetPriority(as_cu(stream), &priority), 0);
    EXPECT_EQ(priority, -1);
  }
}

TEST_F(StreamHandleTest, CreationKeepsTheCurrentContext) {
  ContextHandle const other = get_primary_context(1);
  devices.table()->cuCtxPushCurrent(as_cu(other));
  StreamHandle const stream = create_stream_handle(context);
  cu::Context current = nullptr;
  devices.table()->cuCtxGetCurrent(&current);
  EXPECT_EQ(current, as_cu(other));
  devices.table()->cuCtxPopCurrent(&current);
}

TEST_F(StreamHandleTest, ForeignStreamsAreNotDestroyed) {
  StreamHandle const stream = create_stream_handle(context);
  auto owner = std::make_shared<int>(1);
  std::weak_ptr<int> const watch = owner;
  {
    StreamHandle const borrowed = create_stream_handle_ref(as_cu(stream));
    EXPECT_EQ(as_cu(borrowed), as_cu(stream));
    EXPECT_EQ(as_cu(context_of(borrowed)), as_cu(context)) << "the driver was asked";
    StreamHandle const owned = create_stream_handle_with_owner(as_cu(stream), std::move(owner), context);
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(devices.live().streams, 1);
}

TEST_F(StreamHandleTest, DefaultStreamNumbersGiveDefaultStreams) {
  EXPECT_EQ(create_stream_handle_ref(nullptr).get(), default_stream().get());
  EXPECT_EQ(create_stream_handle_ref(reinterpret_cast<cu::Stream>(2)).get(), get_per_thread_stream().get());
  StreamHandle const of_context = create_stream_handle_ref(nullptr, context);
  EXPECT_EQ(as_cu(of_context), nullptr);
  EXPECT_EQ(as_cu(context_of(of_context)), as_cu(context));
}

TEST_F(StreamHandleTest, FailedCreationSetsTheErrorAndLeavesNoStream) {
  devices.fail("cuStreamCreateWithPriority", 1, 719);
  EXPECT_FALSE(create_stream_handle(context));
  EXPECT_EQ(get_last_error(), 719);
  devices.clear();
  EXPECT_FALSE(create_stream_handle(nullptr));
  EXPECT_EQ(get_last_error(), 201);
  EXPECT_EQ(devices.live().streams, 0);
}

TEST_F(StreamHandleTest, CreationAndDestructionMakeFiveDriverCalls) {
  StreamHandle const first = create_stream_handle(context);
  EXPECT_EQ(calls_in("", [&] { static_cast<void>(create_stream_handle(context)); }), 5u)
      << "current?, push, create, pop, destroy";
}

}  // namespace
}  // namespace memarray::test
