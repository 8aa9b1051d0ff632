#include <memarray/resource/stream_handle.hpp>

#include <gtest/gtest.h>

namespace memarray {
namespace {

TEST(StreamHandle, TheDefaultStreamIsStreamZeroAndNotAFailure) {
  StreamHandle const stream = default_stream();
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(*stream, nullptr);
  EXPECT_EQ(stream, default_stream());
  EXPECT_EQ(stream.use_count(), 0) << "there is nothing to count";
}

}  // namespace
}  // namespace memarray
