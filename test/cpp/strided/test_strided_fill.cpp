#include "strided/strided_fill.hpp"
#include "strided_test.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/options.hpp>
#include <memarray/detail/strided/loop_nest.hpp>

#include <gtest/gtest.h>

#include <string>

namespace memarray::test {
namespace {

TEST(StridedFill, RandomViewsAreFilled) {
  constexpr std::uint64_t seed = 501;
  Random random(seed);
  for (int round = 0; round < rounds(2000); ++round) {
    DType const& dtype = shipped_dtypes()[static_cast<std::size_t>(random.below(15))];
    Numbers const shape = random.shape(static_cast<int>(random.below(7)), 4000);
    View view(dtype, random.layout(shape, dtype.itemsize, true));
    random.fill_with_edges(view);
    View element(dtype, Numbers{});
    random.fill_with_edges(element);
    detail::fill(view.target(), element.data());
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " +
                 to_string(detail::plan_fill(view.layout(), dtype.itemsize)));
    View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
      if (!same_with_sign(view.get(index), element.get({}))) ADD_FAILURE() << ::testing::PrintToString(index);
    });
    ASSERT_TRUE(view.surroundings_are_whole());
    if (HasFailure()) return;
  }
}

TEST(StridedFill, FillValueMayBeAnElementOfTheTarget) {
  View view(dtype_of<float>(), StridedLayout::strided(Numbers{1000, 900}, Numbers{-900 * 8, 8}, 4));
  Random(8).fill(view, true);
  Number const last = view.get({999, 899});
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    detail::fill(view.target(), view.data() + view.place({999, 899}));
    options().threads = before;
  }
  View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
    if (!same(view.get(index), last)) ADD_FAILURE() << ::testing::PrintToString(index);
  });
}

TEST(StridedFill, StructsOfAnySizeAreFilled) {
  for (std::uint32_t const itemsize : {1U, 3U, 12U, 16U, 24U}) {
    DType dtype;
    std::memcpy(dtype.name, "Particle", 9);
    dtype.dl.code = kDLOpaqueHandle;
    dtype.itemsize = itemsize;
    std::vector<std::byte> element(itemsize);
    for (std::size_t i = 0; i < itemsize; ++i) element[i] = static_cast<std::byte>(i + 1);
    View view(dtype, StridedLayout::strided(
                         Numbers{7, 5}, Numbers{11 * std::int64_t{itemsize}, 2 * std::int64_t{itemsize}}, itemsize));
    detail::fill(view.target(), element.data());
    View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
      ASSERT_EQ(std::memcmp(view.data() + view.place(index), element.data(), itemsize), 0);
    });
    EXPECT_TRUE(view.surroundings_are_whole());
    EXPECT_THROW(detail::add_index(view.target(), view.target().data), TypeError);
  }
}

void check_index_sums(View view, Random& random) {
  random.fill(view, true);
  View const before = view;
  detail::add_index(view.target(), view.target().data);
  View::for_each_index(view.layout().shape(), [&](Numbers const& index) {
    std::int64_t sum = 0;
    for (std::int64_t const i : index) sum += i;
    Number wanted = before.get(index);
    if (view.dtype() == dtype_of<bool>()) {
      wanted.whole = wanted.whole | static_cast<std::uint64_t>(sum != 0);
    } else {
      Number term;
      std::byte bytes[16];
      term.whole = static_cast<std::uint64_t>(sum);
      term.real = static_cast<long double>(sum);
      write(view.dtype(), bytes, term);
      term = read(view.dtype(), bytes);
      wanted = {wanted.real + term.real, wanted.imag, wanted.whole + term.whole};
    }
    std::byte bytes[16];
    write(view.dtype(), bytes, wanted);
    wanted = read(view.dtype(), bytes);
    if (!same(view.get(index), wanted))
      ADD_FAILURE() << view.dtype().name << " at " << ::testing::PrintToString(index) << ": "
                    << static_cast<double>(view.get(index).real) << ", not " << static_cast<double>(wanted.real);
  });
  ASSERT_TRUE(view.surroundings_are_whole());
}

TEST(StridedFill, IndexSumsOfRandomViewsAreCorrect) {
  constexpr std::uint64_t seed = 502;
  Random random(seed);
  for (int round = 0; round < rounds(2000); ++round) {
    DType const& dtype = shipped_dtypes()[static_cast<std::size_t>(random.below(15))];
    Numbers const shape = random.shape(static_cast<int>(random.below(7)), 4000);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
    check_index_sums(View(dtype, random.layout(shape, dtype.itemsize, false)), random);
    if (HasFailure()) return;
  }
}

TEST(StridedFill, IndexSumsIntoOtherMemoryMatchThoseInPlace) {
  Random random(503);
  for (DType const& dtype : shipped_dtypes()) {
    StridedLayout const layout = StridedLayout::dense(Numbers{5, 70, 3}, dtype.itemsize);
    View in_place(dtype, layout);
    random.fill(in_place, true);
    View const source = in_place;
    View fresh(dtype, layout);
    detail::add_index(in_place.target(), in_place.target().data);
    detail::add_index(fresh.target(), source.data());
    EXPECT_EQ(std::memcmp(fresh.data(), in_place.data(), static_cast<std::size_t>(layout.size()) * dtype.itemsize), 0)
        << dtype.name;
    EXPECT_TRUE(fresh.surroundings_are_whole());
  }
}

TEST(StridedFill, IndexSumsOnSeveralThreadsAreCorrect) {
  Random random(9);
  for (int const threads : {1, 2}) {
    int const before = options().threads.exchange(threads);
    check_index_sums(View(dtype_of<float>(), StridedLayout::strided(Numbers{700, 700}, Numbers{-4, 704 * 4}, 4)),
                     random);
    check_index_sums(View(dtype_of<std::int32_t>(), Numbers{700, 700}), random);
    options().threads = before;
  }
}

}  // namespace
}  // namespace memarray::test
