#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>

#include <thread>

#include "handle_test.hpp"

namespace memarray::test {
namespace {

class LastErrorTest : public HandleTest {};

TEST_F(LastErrorTest, PeekKeepsAndGetClearsTheError) {
  EXPECT_EQ(get_last_error(), 0);
  static_cast<void>(get_primary_context(99));
  EXPECT_EQ(peek_last_error(), 101);
  EXPECT_EQ(get_last_error(), 101);
  EXPECT_EQ(peek_last_error(), 0);
  static_cast<void>(get_primary_context(99));
  clear_last_error();
  EXPECT_EQ(get_last_error(), 0);
}

TEST_F(LastErrorTest, IsPerThread) {
  std::thread([] {
    static_cast<void>(get_primary_context(99));
    EXPECT_EQ(peek_last_error(), 101);
  }).join();
  EXPECT_EQ(peek_last_error(), 0);
}

TEST_F(LastErrorTest, IsThrownAsAnExceptionWithTheErrorsName) {
  static_cast<void>(get_primary_context(99));
  try {
    throw_last_error("making a stream on cuda:99");
  } catch (CudaError const& error) {
    EXPECT_EQ(error.code(), 101);
    EXPECT_EQ(error.name(), "CUDA_ERROR_INVALID_DEVICE");
    EXPECT_EQ(std::string(error.what()).find("making a stream on cuda:99 failed: "), 0u) << error.what();
  }
  EXPECT_THROW(throw_driver_error(2, "allocating"), OutOfMemoryError);
}

TEST_F(LastErrorTest, CheckedCodeIsThrownUnlessItIsZero) {
  detail::check_driver(cuda_code::success, "copying");
  EXPECT_THROW(detail::check_driver(cuda_code::out_of_memory, "copying"), OutOfMemoryError);
  EXPECT_THROW(detail::check_driver(cuda_code::unknown, "copying"), CudaError);
}

TEST(LastErrorWithoutDriverTest, ErrorMentionsTheDriver) {
  if (device_count() > 0) GTEST_SKIP() << "this machine has a device";
  EXPECT_FALSE(get_primary_context(0));
  try {
    throw_last_error("making an array on cuda:0");
  } catch (CudaError const& error) {
    EXPECT_NE(error.code(), 0);
    EXPECT_NE(std::string(error.what()).find("driver"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace memarray::test
