#include <memarray/base/cuda_code.hpp>
#include <memarray/base/errors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace memarray::test {
namespace {

struct Code {
  std::string constant;
  int number;
  std::string name;
};

#define MEMARRAY_CODE(constant, number, name, text) {#constant, cuda_code::constant, name},
Code const codes[] = {MEMARRAY_FOR_EACH_CUDA_CODE(MEMARRAY_CODE)};
#undef MEMARRAY_CODE

TEST(CudaCodeTest, ConstantsAreSpelledLikeTheDriversNames) {
  for (Code const& code : codes) {
    std::string spelled = code.constant;
    std::ranges::transform(spelled, spelled.begin(), [](unsigned char c) { return std::toupper(c); });
    EXPECT_EQ(code.name, (code.number == 0 ? "CUDA_" : "CUDA_ERROR_") + spelled);
  }
}

TEST(CudaCodeTest, NumbersAreDistinctAndAscending) {
  EXPECT_EQ(std::ranges::adjacent_find(codes, std::ranges::greater_equal(), &Code::number), std::ranges::end(codes));
  EXPECT_EQ(cuda_code::launch_failed, 719);
}

TEST(CudaCodeTest, ErrorsOfListedCodesHaveTheListsName) {
  for (Code const& code : codes) EXPECT_EQ(CudaError(code.number, "refused").name(), code.name);
}

TEST(CudaCodeTest, ErrorOfAnotherCodeIsNamedByItsNumber) {
  CudaError const error(987, "refused");
  EXPECT_EQ(error.code(), 987);
  EXPECT_EQ(error.name(), "CUDA_ERROR_987");
  EXPECT_STREQ(error.what(), "refused");
}

}  // namespace
}  // namespace memarray::test
