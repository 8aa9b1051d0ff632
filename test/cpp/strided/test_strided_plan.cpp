#include <memarray/detail/strided/strided_plan.hpp>

#include "strided_test.hpp"

#include <memarray/base/errors.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace memarray::detail {
namespace {

using test::Numbers;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text(std::string_view operation, DType const& dtype, AxisMask axes = 0) {
  return to_string(plan(operation, dtype, StridedLayout::dense(Numbers{30, 40}, dtype.itemsize), axes));
}

TEST(StridedPlan, EachKernelHasTheExpectedPlan) {
  DType const& f = dtype_of<float>();
  EXPECT_EQ(text("sum", f, 3), "contiguous: reduce 1200 (+4, 0)");
  EXPECT_EQ(text("sum", f, 1), "wide: reduce 30 (+160, 0), 40 (+4, +4)");
  EXPECT_EQ(text("mean", dtype_of<std::int16_t>(), 2), "contiguous: 30 (+80, +8), reduce 40 (+2, 0)");
  EXPECT_EQ(text("min", f, 3), "contiguous: reduce 1200 (+4, 0)");
  EXPECT_EQ(text("max", dtype_of<std::complex<float>>(), 3), "contiguous: reduce 1200 (+8, 0)");
  EXPECT_EQ(text("sum", dtype_of<std::complex<float>>(), 3), "wide: reduce 1200 (+8, 0), 2 (+4, +4)");
  EXPECT_EQ(text("copy", f), "contiguous: 1200 (+4, +4)");
  EXPECT_EQ(text("cast", f), "contiguous: 1200 (+8, +4)");
  EXPECT_EQ(text("fill", f), "contiguous: 1200 (+4)");
  EXPECT_EQ(text("add_index", f), "contiguous: 30 (+160, +1), 40 (+4, +1)");
}

TEST(StridedPlan, UnknownOperationsAreRefused) {
  try {
    static_cast<void>(text("median", dtype_of<float>()));
    FAIL();
  } catch (ValueError const& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("median"), HasSubstr("mean"), HasSubstr("add_index")));
  }
  DType particle;
  particle.dl.code = kDLOpaqueHandle;
  particle.itemsize = 8;
  EXPECT_THROW(static_cast<void>(text("sum", particle)), TypeError);
  EXPECT_EQ(text("copy", particle), "contiguous: 1200 (+8, +8)");
}

}  // namespace
}  // namespace memarray::detail
