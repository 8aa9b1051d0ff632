#include <memarray/detail/strided/loop_nest.hpp>

#include "strided_test.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memarray::detail {
namespace {

using test::Numbers;

constexpr std::size_t itemsize = 4;

StridedLayout layout(Numbers const& shape, Numbers const& strides) {
  return StridedLayout::strided(shape, strides, itemsize);
}

struct ReductionCase {
  char const* what;
  Numbers shape;
  Numbers strides;
  AxisMask axes;
  std::string plan;
};

ReductionCase const reductions[] = {
    {"no dimension", {}, {}, 0, "contiguous"},
    {"one element is dropped", {1, 1, 1}, {4, 8, 12}, 2, "contiguous"},
    {"flipped", {10}, {-4}, 1, "contiguous: reduce 10 (+4, 0); from -36, 0"},
    {"flipped with the result", {100}, {-4}, 0, "columns: 100 (+4, -4); from -396, 396"},
    {"merged", {4, 5, 6}, {120, 24, 4}, 7, "contiguous: reduce 120 (+4, 0)"},
    {"sorted and merged", {6, 4, 5}, {4, 120, 24}, 7, "contiguous: reduce 120 (+4, 0)"},
    {"flipped, sorted and merged", {6, 4, 5}, {-4, 120, -24}, 7, "contiguous: reduce 120 (+4, 0); from -116, 0"},
    {"a gap is not merged", {4, 5, 6}, {128, 24, 4}, 7, "for reduce 4 (+128, 0): contiguous: reduce 30 (+4, 0)"},
    {"kept and reduced are not merged", {40, 500}, {2000, 4}, 1, "columns: reduce 40 (+2000, 0), 500 (+4, +4)"},
    {"rows", {40, 50}, {200, 4}, 2, "contiguous: 40 (+200, +4), reduce 50 (+4, 0)"},
    {"rows, transposed", {50, 40}, {4, 200}, 1, "contiguous: 40 (+200, +4), reduce 50 (+4, 0)"},
    {"rows at a distance", {40, 50}, {800, 16}, 2, "strided: 40 (+800, +4), reduce 50 (+16, 0)"},
    {"short rows", {40, 3}, {12, 4}, 2, "columns: reduce 3 (+4, 0), 40 (+12, +4)"},
    {"short columns", {40, 3}, {12, 4}, 1, "wide: reduce 40 (+12, 0), 3 (+4, +4)"},
    {"short columns with a gap", {40, 3}, {16, 4}, 1, "strided: 3 (+4, +4), reduce 40 (+16, 0)"},
    {"a repeat", {7, 40}, {0, 4}, 3, "contiguous: reduce 40 (+4, 0); times 7"},
    {"repeats only", {7, 8}, {0, 0}, 3, "contiguous; times 56"},
    {"results that are the same", {7, 40}, {0, 4}, 2, "contiguous: reduce 40 (+4, 0)"},
    {"an axis between",
     {20, 30, 40},
     {4800, 160, 4},
     2,
     "for 20 (+4800, +160): wide: reduce 30 (+160, 0), 40 (+4, +4)"},
    {"axes around",
     {20, 30, 40},
     {4800, 160, 4},
     5,
     "for reduce 20 (+4800, 0): contiguous: 30 (+160, +4), reduce 40 (+4, 0)"},
    {"all of two gaps",
     {20, 30, 40},
     {9600, 240, 4},
     7,
     "for reduce 20 (+9600, 0): columns: reduce 30 (+240, 0), reduce 40 (+4, 0)"},
    {"short runs", {900, 3}, {20, 4}, 3, "strided: reduce 3 (+4, 0), reduce 900 (+20, 0)"},
    {"short runs of many results",
     {50, 60, 20},
     {6000, 100, 4},
     6,
     "for reduce 60 (+100, 0): contiguous: 50 (+6000, +4), reduce 20 (+4, 0)"},
    {"nothing to reduce", {0, 3}, {12, 4}, 1, "wide: reduce 0 (+12, 0), 3 (+4, +4)"},
};

TEST(LoopNest, ReductionsHaveTheExpectedPlans) {
  for (ReductionCase const& each : reductions) {
    Numbers kept;
    for (std::size_t d = 0; d < each.shape.size(); ++d)
      if ((each.axes >> d & 1U) == 0) kept.push_back(each.shape[d]);
    EXPECT_EQ(to_string(plan_reduction(layout(each.shape, each.strides), itemsize, each.axes,
                                       StridedLayout::dense(kept, itemsize), itemsize, true)),
              each.plan)
        << each.what;
  }
}

TEST(LoopNest, MinAndMaxVisitRepeatedElementsOnce) {
  StridedLayout const none;
  LoopNest const nest = plan_reduction(layout({7, 40}, {0, 4}), itemsize, 3, none, itemsize, false);
  EXPECT_EQ(nest.repeat, 1);
  EXPECT_EQ(to_string(nest), "contiguous: reduce 40 (+4, 0)");
}

TEST(LoopNest, ComplexNumbersAreReducedAsTwoParts) {
  StridedLayout const none;
  EXPECT_EQ(to_string(plan_reduction(StridedLayout::dense(Numbers{100}, 8), 4, 1, none, 4, true, 2)),
            "wide: reduce 100 (+8, 0), 2 (+4, +4)");
  EXPECT_EQ(to_string(plan_reduction(StridedLayout::dense(Numbers{10, 100}, 8), 4, 1,
                                     StridedLayout::dense(Numbers{100}, 8), 4, true, 2)),
            "columns: reduce 10 (+800, 0), 200 (+4, +4)");
}

struct CopyCase {
  char const* what;
  Numbers shape;
  Numbers target;
  Numbers source;
  std::string plan;
};

CopyCase const copies[] = {
    {"no dimension", {}, {}, {}, "contiguous"},
    {"dense", {4, 5, 6}, {120, 24, 4}, {120, 24, 4}, "contiguous: 120 (+4, +4)"},
    {"both in Fortran's order", {6, 5, 4}, {4, 24, 120}, {4, 24, 120}, "contiguous: 120 (+4, +4)"},
    {"flipped on both sides", {10}, {-4}, {-4}, "contiguous: 10 (+4, +4); from -36, -36"},
    {"flipped", {10}, {4}, {-4}, "strided: 10 (+4, -4)"},
    {"flipped target", {10}, {-4}, {4}, "strided: 10 (+4, -4); from -36, 36"},
    {"merged for one only", {4, 5}, {20, 4}, {40, 4}, "contiguous: 4 (+20, +40), 5 (+4, +4)"},
    {"from a distance", {4, 5}, {20, 4}, {40, 8}, "strided: 20 (+4, +8)"},
    {"transposed", {40, 50}, {200, 4}, {4, 160}, "tiles: 40 (+200, +4), 50 (+4, +160)"},
    {"transposed and flipped", {40, 50}, {200, 4}, {4, -160}, "tiles: 40 (+200, +4), 50 (+4, -160)"},
    {"three dimensions",
     {20, 30, 40},
     {4800, 160, 4},
     {4, 80, 2400},
     "for 30 (+160, +80): tiles: 20 (+4800, +4), 40 (+4, +2400)"},
    {"too short for tiles", {3, 50}, {200, 4}, {4, 12}, "strided: 3 (+200, +4), 50 (+4, +12)"},
    {"rows repeated", {4, 50}, {200, 4}, {0, 4}, "contiguous: 4 (+200, 0), 50 (+4, +4)"},
    {"elements repeated", {4, 50}, {200, 4}, {4, 0}, "broadcast: 4 (+200, +4), 50 (+4, 0)"},
};

TEST(LoopNest, CopiesHaveTheExpectedPlans) {
  for (CopyCase const& each : copies)
    EXPECT_EQ(
        to_string(plan_copy(layout(each.shape, each.target), itemsize, layout(each.shape, each.source), itemsize)),
        each.plan)
        << each.what;
}

TEST(LoopNest, FillsHaveTheExpectedPlans) {
  EXPECT_EQ(to_string(plan_fill(layout({4, 5}, {20, 4}), itemsize)), "contiguous: 20 (+4)");
  EXPECT_EQ(to_string(plan_fill(layout({4, 5}, {4, -16}), itemsize)), "contiguous: 20 (+4); from -64");
  EXPECT_EQ(to_string(plan_fill(layout({4, 5}, {0, 8}), itemsize)), "strided: 5 (+8)");
  EXPECT_EQ(to_string(plan_fill(layout({0, 5}, {0, 4}), itemsize)), "contiguous: 0 (+4)");
}

TEST(LoopNest, IndexSumsAreNeverMerged) {
  EXPECT_EQ(to_string(plan_add_index(layout({4, 5}, {20, 4}), itemsize)), "contiguous: 4 (+20, +1), 5 (+4, +1)");
  EXPECT_EQ(to_string(plan_add_index(layout({4, 5}, {4, -16}), itemsize)),
            "contiguous: 5 (+16, -1), 4 (+4, +1); from -64, 4");
}

TEST(LoopNest, LongStridesDoNotOverflow) {
  constexpr std::int64_t far = 1LL << 62;
  EXPECT_EQ(to_string(plan_copy(layout({2, 2}, {8, 4}), itemsize, layout({2, 2}, {4, far}), itemsize)),
            "strided: 2 (+8, +4), 2 (+4, +4611686018427387904)");
}

/// Each element must be visited as often as without a plan, in any order.
TEST(LoopNest, RandomNestsVisitEveryElement) {
  constexpr std::uint64_t seed = 31;
  test::Random random(seed);
  for (int round = 0; round < 3000; ++round) {
    Numbers const shape = random.shape(static_cast<int>(random.below(9)), 300);
    StridedLayout const source = random.layout(shape, itemsize, false);
    StridedLayout const target = random.layout(shape, itemsize, false);
    LoopNest const nest = plan_copy(target, itemsize, source, itemsize);
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    test::View::for_each_index(source.shape(), [&](Numbers const& index) {
      std::pair<std::int64_t, std::int64_t> place;
      for (int d = 0; d < source.ndim(); ++d) {
        place.first += index[static_cast<std::size_t>(d)] * target.stride(d);
        place.second += index[static_cast<std::size_t>(d)] * source.stride(d);
      }
      wanted.push_back(place);
    });
    Numbers extents;
    for (LoopNest::Loop const& loop : nest.all()) extents.push_back(loop.extent);
    test::View::for_each_index(extents, [&](Numbers const& index) {
      std::pair<std::int64_t, std::int64_t> place{nest.offsets[0], nest.offsets[1]};
      for (std::size_t i = 0; i < index.size(); ++i) {
        place.first += index[i] * nest.loops[i].strides[0];
        place.second += index[i] * nest.loops[i].strides[1];
      }
      found.push_back(place);
    });
    std::ranges::sort(wanted);
    std::ranges::sort(found);
    ASSERT_EQ(found, wanted) << "seed " << seed << ", round " << round << ": " << to_string(nest);
  }
}

}  // namespace
}  // namespace memarray::detail
