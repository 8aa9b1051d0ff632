#include <memarray/kernel/hold.hpp>
#include <memarray/kernel/reduce.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {
namespace {

class BundleTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, BundleTest, ::testing::Values(1, 2, 0), name_of_place);

// No other test may give a bundle this name: GCC links templates over an unnamed namespace's template as one.
template <template <class, int> class Array>
struct HeldNodes {
  Array<double, 1> position, speed;
  Array<std::int32_t, 2> neighbours;
  MEMARRAY_BUNDLE(position, speed, neighbours)
};

TEST_P(BundleTest, GiveKernelsTheirArraysByName) {
  HeldNodes<MemArray> nodes{MemArray<double, 1>({20}), MemArray<double, 1>({20}), MemArray<std::int32_t, 2>({20, 2})};
  MemArray<double, 1> force({20});
  force.fill(3);
  place(nodes.position);
  place(nodes.speed);
  place(nodes.neighbours);
  place(force);
  for_each_index(
      {20}, stream,
      [](std::int64_t i, HeldNodes<Indexer> const& own, auto forces) {
        own.speed[i] = forces[i];
        own.position[i] = static_cast<double>(i);
        own.neighbours[{i, 1}] = static_cast<std::int32_t>(i + 1);
      },
      write(nodes), read(force));
  auto const sum_of = [](std::int64_t i, HeldNodes<ConstIndexer> const& own) {
    return own.position[i] + own.speed[i] + own.neighbours[{i, 1}];
  };
  EXPECT_EQ(transform_reduce({20}, stream, 0.0, plus{}, sum_of, read(std::as_const(nodes))), 190 + 60 + 210);
  {
    auto held = hold(stream, write(nodes));
    EXPECT_THROW(static_cast<void>(ReadLease<std::int32_t, 2>(nodes.neighbours)), LockError);
    held.for_each_index({20}, [](std::int64_t i, auto const& own) { own.position[i] += own.speed[i]; });
  }
  EXPECT_THROW(
      for_each_index({20}, stream, [](auto, auto const&, auto) {}, write(nodes), read(nodes.speed)), LockError);
  EXPECT_EQ(fetched(nodes.position)[19], 22);
}

template <template <class, int> class Array>
struct MadeNodes {
  Array<double, 1> x;
  Array<std::int32_t, 1> cell;
  explicit MadeNodes(std::int64_t size) : x({size}), cell({size}) {}
  MEMARRAY_BUNDLE(x, cell)
};

TEST_P(BundleTest, MayHaveConstructors) {
  MadeNodes<MemArray> nodes(8);
  place(nodes.x);
  place(nodes.cell);
  for_each_index(
      {8}, stream,
      [](std::int64_t i, MadeNodes<Indexer> const& own) {
        own.x[i] = 0.5;
        own.cell[i] = static_cast<std::int32_t>(i);
      },
      write(nodes));
  double const sum = transform_reduce(
      {8}, stream, 0.0, plus{}, [](std::int64_t i, auto const& own) { return own.x[i] + own.cell[i]; }, read(nodes));
  EXPECT_EQ(sum, 4 + 28);
}

template <class Real>
struct Of {
  template <template <class, int> class Array>
  struct HeldNodes {
    Array<Real, 1> x;
    MEMARRAY_BUNDLE(x)
  };
};

TEST_P(BundleTest, MembersOfATemplateHaveItsPrecision) {
  Of<float>::HeldNodes<MemArray> nodes{MemArray<float, 1>({3})};
  place(nodes.x);
  for_each_index({3}, stream, [](std::int64_t i, auto n) { n.x[i] = 2; }, write(nodes));
  EXPECT_EQ(fetched(nodes.x), std::vector<float>(3, 2.0F));
}

}  // namespace
}  // namespace memarray::test
