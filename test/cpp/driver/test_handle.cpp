#include <memarray/driver/handle.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace memarray::test {
namespace {

static_assert(std::is_nothrow_move_constructible_v<StreamHandle>);
static_assert(!std::is_convertible_v<StreamHandle, EventHandle>, "kinds do not mix");
static_assert(!std::is_assignable_v<decltype(*std::declval<StreamHandle>()), cu::Stream>, "no rebinding");

TEST(HandleAccessTest, NullHandleGivesNullResource) {
  EXPECT_EQ(as_cu(StreamHandle()), nullptr);
  EXPECT_EQ(as_intptr(StreamHandle()), 0);
  EXPECT_EQ(as_cu(DevicePtrHandle()), 0u);
}

TEST(HandleAccessTest, ShowsTheRawResource) {
  cu::DevicePtr const pointer = 0x7000'1000;
  DevicePtrHandle const handle(DevicePtrHandle(), &pointer);
  EXPECT_EQ(as_cu(handle), pointer);
  EXPECT_EQ(as_intptr(handle), 0x7000'1000);
  EXPECT_EQ(as_intptr(get_legacy_stream()), reinterpret_cast<std::intptr_t>(as_cu(get_legacy_stream())));
}

}  // namespace
}  // namespace memarray::test
