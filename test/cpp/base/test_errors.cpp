#include <memarray/base/errors.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

namespace memarray::test {
namespace {

TEST(ErrorsTest, MemarrayErrorsDeriveFromError) {
  static_assert(std::is_base_of_v<Error, LockError>);
  static_assert(std::is_base_of_v<Error, UnsupportedTypeError>);
  static_assert(std::is_base_of_v<Error, CudaError>);
  static_assert(std::is_base_of_v<CudaError, OutOfMemoryError>);
  static_assert(std::is_base_of_v<Error, Interrupted>);
  static_assert(std::is_base_of_v<std::runtime_error, Error>);
}

TEST(ErrorsTest, ArgumentErrorsDeriveFromStandardExceptions) {
  static_assert(std::is_base_of_v<std::invalid_argument, ValueError>);
  static_assert(std::is_base_of_v<std::invalid_argument, TypeError>);
  static_assert(std::is_base_of_v<std::out_of_range, IndexError>);
  static_assert(std::is_base_of_v<std::overflow_error, OverflowError>);
  static_assert(!std::is_base_of_v<Error, ValueError>);
}

TEST(ErrorsTest, ACudaErrorKeepsItsCodeAndName) {
  CudaError const error(cuda_code::no_device, "CUDA_ERROR_NO_DEVICE", "there is none");
  EXPECT_EQ(error.code(), 100);
  EXPECT_EQ(error.name(), "CUDA_ERROR_NO_DEVICE");
  EXPECT_STREQ(error.what(), "there is none");
}

TEST(ErrorsTest, OutOfMemoryErrorHasDriverErrorCode) {
  OutOfMemoryError const error("8 bytes too many");
  EXPECT_EQ(error.code(), 2);
  EXPECT_EQ(error.name(), "CUDA_ERROR_OUT_OF_MEMORY");
}

}  // namespace
}  // namespace memarray::test
