#include <memarray/detail/launch/unravel.hpp>

#include <gtest/gtest.h>
#include <memarray/base/array_indexer.hpp>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace memarray::detail {
namespace {

template <class U>
class DivisorTest : public ::testing::Test {};
using Widths = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(DivisorTest, Widths);

template <class U>
std::vector<U> numbers_near_edges() {
  constexpr U most = std::numeric_limits<U>::max() / 2;
  std::vector<U> numbers;
  for (U power = 1; power <= most / 2; power *= 2)
    for (U const near : {power - 1, power, power + 1, 3 * (power / 2), most / power, most - power}) {
      numbers.push_back(near);
      numbers.push_back(near / 7 * 7);
    }
  for (U const number : {U{0}, U{10}, U{641}, U{1000003}, most - 1, most}) numbers.push_back(number);
  return numbers;
}

TYPED_TEST(DivisorTest, QuotientMatchesIntegerDivision) {
  auto const numbers = numbers_near_edges<TypeParam>();
  for (TypeParam const divisor : numbers) {
    if (divisor == 0) continue;
    Divisor<TypeParam> const quick(divisor);
    for (TypeParam const dividend : numbers)
      ASSERT_EQ(quick.quotient(dividend), dividend / divisor) << dividend << " / " << divisor;
  }
}

TYPED_TEST(DivisorTest, DefaultDivisorIsOne) {
  EXPECT_EQ(Divisor<TypeParam>().quotient(0), 0U);
  EXPECT_EQ(Divisor<TypeParam>().quotient(123456), 123456U);
}

template <int ndim>
using Shape = cuda::std::array<std::int64_t, ndim>;

template <class U, class IndexT, int ndim>
void expect_as_indexer(Shape<ndim> const& shape, std::int64_t step = 1) {
  Unravel<U, ndim> const unravel(shape);
  ArrayIndexer<char const, ndim> const indexer{nullptr, shape};
  for (std::int64_t linear = 0; linear < indexer.size(); linear += step) {
    auto const indices = unravel.template at<IndexT>(static_cast<U>(linear));
    auto const expected = indexer.get_indices(linear);
    for (int d = 0; d < ndim; ++d) ASSERT_EQ(static_cast<std::int64_t>(indices[d]), expected[d]) << linear;
  }
}

TEST(UnravelTest, IndicesMatchThoseOfArrayIndexer) {
  expect_as_indexer<std::uint32_t, std::int32_t, 1>({5});
  expect_as_indexer<std::uint32_t, std::int64_t, 2>({7, 3});
  expect_as_indexer<std::uint64_t, std::int64_t, 3>({4, 1, 6});
  expect_as_indexer<std::uint32_t, std::int32_t, 6>({2, 3, 1, 5, 4, 3});
  expect_as_indexer<std::uint32_t, std::int32_t, 3>({1024, 1024, 2047}, 1000003);
  expect_as_indexer<std::uint64_t, std::int64_t, 3>({3000, 5000, 70001}, 999999937);
}

TEST(UnravelTest, HasRowsOfIsTrueIfVectorsStayWithinRows) {
  EXPECT_TRUE((Unravel<std::uint32_t, 2>(Shape<2>{3, 8}).has_rows_of(4)));
  EXPECT_FALSE((Unravel<std::uint32_t, 2>(Shape<2>{8, 3}).has_rows_of(4)));
  EXPECT_FALSE((Unravel<std::uint64_t, 2>(Shape<2>{8, 6}).has_rows_of(4)));
  EXPECT_TRUE((Unravel<std::uint32_t, 1>(Shape<1>{3}).has_rows_of(4)));
}

}  // namespace
}  // namespace memarray::detail
