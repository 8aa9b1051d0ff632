#include <memarray/base/dtype.hpp>

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <map>
#include <string>

#include <memarray/base/cuda_complex.hpp>

namespace physics {

struct Particle {
  double position[3];
  std::int32_t kind;
};

struct Cell {
  char state = 7;
  double level = 1.0;
};

template <class A, class B>
struct Pair {
  A first;
  B second;
};

struct Stranger {
  int value;
};

}  // namespace physics

MEMARRAY_DTYPE(physics::Particle);
MEMARRAY_DTYPE(physics::Cell);
MEMARRAY_DTYPE(physics::Pair<int, float>);

namespace memarray {
namespace {

static_assert(Element<double> && Element<double const> && Element<float16>);
static_assert(Element<physics::Particle> && Element<physics::Pair<int, float>>);
static_assert(!Element<physics::Stranger> && !Element<char*> && !Element<void>);
static_assert(std::is_trivially_copyable_v<DType>);

template <class T>
class ShippedDType : public ::testing::Test {};
using Types = ::testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                               std::uint32_t, std::uint64_t, float16, bfloat16, float, double, std::complex<float>,
                               std::complex<double>>;
TYPED_TEST_SUITE(ShippedDType, Types);

TYPED_TEST(ShippedDType, DescribesCppType) {
  DType const& dtype = dtype_of<TypeParam>();
  EXPECT_EQ(dtype.itemsize, sizeof(TypeParam));
  EXPECT_EQ(dtype.alignment, alignof(TypeParam));
  EXPECT_EQ(dtype.dl.bits, sizeof(TypeParam) * 8);
  EXPECT_EQ(dtype.dl.lanes, 1);
  EXPECT_EQ(dtype.init, nullptr);
  EXPECT_TRUE(dtype.has_dlpack());
  EXPECT_FALSE(dtype.is_struct());
  TypeParam const zero{};
  for (std::size_t i = 0; i < sizeof(zero); ++i) {
    EXPECT_EQ(reinterpret_cast<unsigned char const*>(&zero)[i], 0);
  }
}

TYPED_TEST(ShippedDType, IsFoundByNameAndByDLPackType) {
  DType const& dtype = dtype_of<TypeParam const>();
  ASSERT_NE(find_dtype(dtype.name_view()), nullptr);
  EXPECT_EQ(*find_dtype(dtype.name_view()), dtype);
  ASSERT_NE(find_dtype(dtype.dl), nullptr);
  EXPECT_EQ(*find_dtype(dtype.dl), dtype);
}

TEST(DType, FifteenDistinctDTypesAreShipped) {
  auto const all = shipped_dtypes();
  EXPECT_EQ(all.size(), 15U);
  for (DType const& left : all) {
    for (DType const& right : all) {
      EXPECT_EQ(left == right, &left == &right);
    }
  }
}

TEST(DType, TypestrsMatchNumPyAndFormatsMatchBufferProtocol) {
  std::map<std::string, std::pair<std::string, std::string>> const expected = {
      {"bool", {"|b1", "?"}},    {"int8", {"|i1", "b"}},       {"int16", {"<i2", "h"}},       {"int32", {"<i4", "i"}},
      {"int64", {"<i8", "l"}},   {"uint8", {"|u1", "B"}},      {"uint16", {"<u2", "H"}},      {"uint32", {"<u4", "I"}},
      {"uint64", {"<u8", "L"}},  {"float16", {"<f2", "e"}},    {"bfloat16", {"", ""}},        {"float32", {"<f4", "f"}},
      {"float64", {"<f8", "d"}}, {"complex64", {"<c8", "Zf"}}, {"complex128", {"<c16", "Zd"}}};
  for (auto const& [name, words] : expected) {
    DType const* const dtype = find_dtype(name);
    ASSERT_NE(dtype, nullptr) << name;
    EXPECT_EQ(dtype->typestr, words.first);
    EXPECT_EQ(dtype->format, words.second);
  }
  EXPECT_EQ(find_dtype("float128"), nullptr);
  EXPECT_EQ(find_dtype(""), nullptr);
  EXPECT_EQ(find_dtype(DLDataType{kDLFloat, 32, 4}), nullptr);
}

TEST(DType, DTypeMacroDescribesStructs) {
  DType const& dtype = dtype_of<physics::Particle>();
  EXPECT_EQ(dtype.name_view(), "physics::Particle");
  EXPECT_STREQ(dtype.typestr, "|V32");
  EXPECT_STREQ(dtype.format, "") << "a struct without fields has no format";
  EXPECT_EQ(dtype.itemsize, 32U);
  EXPECT_EQ(dtype.alignment, 8U);
  EXPECT_FALSE(dtype.has_dlpack());
  EXPECT_TRUE(dtype.is_struct());
  EXPECT_EQ(dtype.init, nullptr);
  EXPECT_EQ(&dtype, &dtype_of<physics::Particle const>());
  EXPECT_EQ(find_dtype("physics::Particle"), nullptr) << "the core ships no struct";
  EXPECT_EQ((dtype_of<physics::Pair<int, float>>().name_view()), "physics::Pair<int, float>");
  EXPECT_FALSE(dtype == dtype_of<physics::Cell>());
}

TEST(DType, InitPatternHoldsStructDefaults) {
  DType const& dtype = dtype_of<physics::Cell>();
  ASSERT_NE(dtype.init, nullptr);
  physics::Cell cell{0, 0.0};
  std::memcpy(&cell, dtype.init, sizeof(cell));
  EXPECT_EQ(cell.state, 7);
  EXPECT_EQ(cell.level, 1.0);
  for (std::size_t padding = 1; padding < 8; ++padding) {
    EXPECT_EQ(static_cast<unsigned char const*>(dtype.init)[padding], 0);
  }
}

TEST(DType, CudaComplexAndStdComplexShareDType) {
  EXPECT_EQ(dtype_of<cuda::std::complex<float>>(), dtype_of<std::complex<float>>());
  EXPECT_EQ(dtype_of<cuda::std::complex<double>>(), dtype_of<std::complex<double>>());
  static_assert(!Element<cuda::std::complex<float16>>);
}

TEST(DType, CopyKeepsName) {
  DType const copy = [] { return dtype_of<double>(); }();
  EXPECT_EQ(copy.name_view(), "float64");
}

}  // namespace
}  // namespace memarray
