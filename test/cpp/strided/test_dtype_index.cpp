#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdint>

#include "strided/dtype_index.hpp"

namespace memarray::detail {
namespace {

struct Pair {
  float first, second;
};

TEST(DTypeIndexTest, IsThePlaceInTheList) {
  for (std::size_t place = 0; place < shipped_dtypes().size(); ++place)
    EXPECT_EQ(shipped_index(shipped_dtypes()[place]), static_cast<int>(place));
}

TEST(DTypeIndexTest, TypesUnknownToTheSwitchesAreFound) {
  EXPECT_FALSE((is_in_switches<long double>(kDLFloat))) << "would be read as a double";
  EXPECT_FALSE((is_in_switches<std::complex<float16>>(kDLComplex))) << "would be read as a pair of doubles";
  EXPECT_FALSE((is_in_switches<float>(kDLBfloat))) << "would be stored as a complex number";
  EXPECT_FALSE((is_in_switches<std::uint8_t>(kDLInt)));
  EXPECT_FALSE((is_in_switches<std::int8_t>(kDLBool)));
  EXPECT_FALSE((is_in_switches<std::byte>(kDLUInt)));
  EXPECT_FALSE((is_in_switches<Pair>(kDLOpaqueHandle)));
  EXPECT_TRUE((is_in_switches<float16>(kDLFloat8_e5m2))) << "any small float that converts to float";
}

}  // namespace
}  // namespace memarray::detail
