// Each form of kernels and reductions as a device computes it, run on the host for each thread of a grid. The results
// are compared with those of the host's loops.

#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "array/array_test.hpp"
#include "kernel/device_grid_test.hpp"

namespace memarray::test {
namespace {

/// The launches of a test, on host threads.
struct Host {
  template <class Box, class F, class... Access>
  void launch(Box const& box, F const& f, Access const&... accesses) const {
    for_each_index(box, default_stream(), f, accesses...);
  }
  template <class F, class Access>
  void over(F const& f, Access const& access) const {
    detail::launch_over(access, default_stream(), detail::ElementFirst<F>{f}, detail::RunLoop());
  }
  template <class T, class Box, class Op, class F, class... Access>
  [[nodiscard]] T reduced(T init, Box const& box, Op op, F const& f, Access const&... accesses) const {
    return transform_reduce(box, default_stream(), init, op, f, accesses...);
  }
};
template <class Position>
struct Device {
  Grid grid;

  template <class Box, class F, class... Access>
  void launch(Box const& box, F const& f, Access const&... accesses) const {
    detail::check_and_launch(detail::box_of(box), detail::extent_of(box), default_stream(), f, OnGrid<Position>{grid},
                             accesses...);
  }
  template <class F, class Access>
  void over(F const& f, Access const& access) const {
    detail::launch_over(access, default_stream(), detail::ElementFirst<F>{f}, OnGrid<Position>{grid});
  }
  template <class T, class Box, class Op, class F, class... Access>
  [[nodiscard]] T reduced(T init, Box const& box, Op op, F const& f, Access const&... accesses) const {
    T result = init;
    detail::check_and_launch(detail::box_of(box), detail::extent_of(box), default_stream(), f,
                             ReduceOnGrid<T, Op>{init, op, &result, grid}, accesses...);
    return result;
  }
};

class DeviceFormsTest : public ArrayTest {
 protected:
  /// Calls `use`, which returns its results, with the host and with each grid.
  template <class Use>
  static void expect_as_on_host(Use const& use) {
    auto const expected = use(Host());
    for (Grid const grid : grids) {
      SCOPED_TRACE(std::to_string(grid.blocks) + " blocks of " + std::to_string(grid.threads));
      EXPECT_EQ(use(Device<std::uint32_t>{grid}), expected);
      EXPECT_EQ(use(Device<std::uint64_t>{grid}), expected);
    }
  }
  template <class T, int ndim>
  static MemArray<T, ndim> counted(std::array<std::int64_t, ndim> const& shape) {
    MemArray<T, ndim> array(shape);
    count_up(array);
    return array;
  }
  template <int ndim>
  using Extents = std::array<std::int64_t, ndim>;
};

struct AddPlace {
  template <class Indices, class T>
  void operator()(Indices const& i, T& element) const {
    std::int64_t place = 1;
    for (std::size_t d = 0; d < i.size(); ++d) place = 10 * place + i[d];
    element = static_cast<T>(element + static_cast<T>(place));
  }
};

TEST_F(DeviceFormsTest, ElementsOfWholeArraysAndRangesAreUpdated) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<float, 3>({3, 5, 8});
    auto b = counted<std::int16_t, 2>({7, 9});
    where.launch(Extents<3>{3, 5, 8}, AddPlace(), update(a));
    where.launch(range({0, 1, 2}, {3, 4, 7}), AddPlace(), update(a));
    where.launch(range({2, 3}, {7, 8}), AddPlace(), update(b));
    where.launch(range({2, 3}, {2, 8}), AddPlace(), update(b));
    EXPECT_EQ(a({0, 0, 0}), 1000.0F);
    EXPECT_EQ(b({2, 3}), 21 + 123);
    return std::pair(contents(a), contents(b));
  });
}

TEST_F(DeviceFormsTest, StridedViewsGiveElementsAndIndexers) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<std::int64_t, 3>({4, 6, 5});
    auto from = counted<double, 2>({5, 8});
    auto to = counted<double, 2>({8, 3});
    {
      WriteLease<std::int64_t, 3> const lease(a);
      int const axes[] = {2, 0, 1};
      BufferView const part = BufferView(lease).slice(1, {.step = -2}).transpose(axes);  // 5 × 4 × 3
      where.launch(Extents<3>{5, 4, 3}, AddPlace(), update<std::int64_t, 3>(part));
      where.launch(range({1, 0, 1}, {4, 4, 2}), AddPlace(), update<std::int64_t, 3>(part));
      where.over([](std::int64_t& element, auto const& i) { element -= 7 * i[2]; }, update<std::int64_t, 3>(part));
      ReadLease<double, 2> const of_from(from);
      WriteLease<double, 2> const of_to(to);
      BufferView const target = BufferView(of_to).slice(0, {.step = 2}).transpose(std::array{1, 0});  // 3 × 4
      ConstBufferView const source = ConstBufferView(of_from).slice(1, {.step = -2});                 // 5 × 4
      where.launch(
          Extents<2>{3, 4},
          [](auto const& i, StridedIndexer<double const, 2> x, StridedIndexer<double, 2> y) {
            y[i] = x[i] + 100 * x[{4, 0}];
          },
          read<double, 2>(source), overwrite<double, 2>(target));
    }
    EXPECT_EQ(to({0, 0}), 7 + 100 * 39);
    EXPECT_EQ(a({0, 5, 0}), 25 + 1000);
    return std::pair(contents(a), contents(to));
  });
}

TEST_F(DeviceFormsTest, IndexersReachAnyElement) {
  expect_as_on_host([](auto const& where) {
    auto from = counted<int, 1>({40});
    auto to = counted<float, 2>({4, 10});
    MemArray<float, 3> rows({4, 10, 2});
    where.launch(
        Extents<2>{4, 10},
        [](auto const& i, ArrayIndexer<int const, 1> x, ArrayIndexer<float, 2> y) {
          y[i] += static_cast<float>(x[39 - 10 * i[0] - i[1]]);
        },
        read(from), update(to));
    where.launch(
        Extents<2>{4, 10},
        [](auto const& i, ArrayIndexer<float const, 2> x, ArrayIndexer<float, 3> y) {
          for (int k = 0; k < 2; ++k) y[{i[0], i[1], k}] = x[i] + static_cast<float>(k);
        },
        read(to), overwrite(rows));
    EXPECT_EQ(to({0, 1}), 1 + 38);
    return std::pair(contents(to), contents(rows));
  });
}

template <template <class, int> class Array>
struct Nodes {
  Array<double, 1> x, v;
  Array<int, 1> cell;
  MEMARRAY_BUNDLE(x, v, cell)
};

TEST_F(DeviceFormsTest, BundlesGiveTheirArraysByName) {
  expect_as_on_host([](auto const& where) {
    Nodes<MemArray> nodes{counted<double, 1>({100}), counted<double, 1>({100}), MemArray<int, 1>({100})};
    auto other = counted<double, 1>({100});
    where.launch(
        range(1, 99),
        [](std::int64_t i, Nodes<Indexer> const& n) {
          n.x[i] += 2 * n.v[i];
          n.cell[i] = static_cast<int>(i % 7);
        },
        write(nodes));
    where.launch(
        Extents<1>{100}, [](std::int64_t i, Nodes<ConstIndexer> const& n, double& y) { y += n.x[i] * n.cell[99 - i]; },
        read(nodes), update(other));
    EXPECT_EQ(other({50}), 50 + 150 * (49 % 7));
    double const sum = where.reduced(
        0.0, range(3, 90), plus(), [](std::int64_t i, Nodes<ConstIndexer> const& n) { return n.x[i] - n.v[99 - i]; },
        read(nodes));
    return std::pair(contents(other), sum);
  });
}

TEST_F(DeviceFormsTest, OneIndexIsOfTheTypeThatTheFunctorTakes) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<std::int64_t, 1>({300});
    auto const add = [](auto i, std::int64_t& x) { x += 1000 * static_cast<std::int64_t>(sizeof(i)) + i; };
    where.launch(Extents<1>{300}, [add](std::int64_t i, std::int64_t& x) { add(i, x); }, update(a));
    where.launch(range(5, 200), [add](std::int32_t i, std::int64_t& x) { add(i, x); }, update(a));
    where.launch(range(7, 9), [add](std::integral auto i, std::int64_t& x) { add(i, x); }, update(a));
    where.launch(Extents<1>{300}, [](std::size_t i, ArrayIndexer<std::int64_t, 1> x) { x[i] *= 2; }, write(a));
    EXPECT_EQ(a({0}), 2 * 8000);
    EXPECT_EQ(a({5}), 2 * (5 + 8005 + 4005));
    return contents(a);
  });
}

TEST_F(DeviceFormsTest, ElementComesFirstInLaunchesOverAnArrayOrView) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<double, 2>({6, 7});
    auto b = counted<double, 1>({129});
    where.over([](double& x, cuda::std::array<std::int64_t, 2> const& i) { x += 10.0 * static_cast<double>(i[0]); },
               update(a));
    where.over([](double& x, auto const& i) { x += static_cast<double>(i[1]); }, update(a));
    where.over([](double& x, std::int64_t i) { x += static_cast<double>(2 * i); }, update(b));
    where.over([](double& x, std::int32_t i) { x += static_cast<double>(3 * i); }, update(b));
    where.over([](double& x, std::integral auto i) { x += static_cast<double>(5 * i); }, update(b));
    {
      WriteLease<double, 1> const lease(b);
      BufferView const backwards = BufferView(lease).slice(0, {.step = -3});
      where.over([](double& x, std::int64_t i) { x -= static_cast<double>(i); }, update<double, 1>(backwards));
    }
    EXPECT_EQ(a({5, 6}), 41 + 50 + 6);
    EXPECT_EQ(b({128}), 28 + 10 * 128);
    return std::pair(contents(a), contents(b));
  });
}

TEST_F(DeviceFormsTest, EscapedViewsKeepTheOldElements) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<int, 2>({8, 9});
    std::vector<int> const before = contents(a);
    ReadLease<int, 2> lease(a);
    ConstBufferView const kept(lease);
    lease.close();
    where.launch(range({1, 2}, {7, 8}), AddPlace(), update(a));
    auto const old = kept.as<int const, 2>();
    for (std::int64_t i = 0; i < 72; ++i) EXPECT_EQ(old(i / 9, i % 9), before[static_cast<std::size_t>(i)]);
    EXPECT_EQ(a({0, 0}), before[0]);
    EXPECT_EQ(a({1, 2}), before[11] + 112);
    return contents(a);
  });
}

struct Sums {
  std::int64_t count;
  std::int64_t sum;
  double largest;
  friend bool operator==(Sums const&, Sums const&) = default;
};
struct Combine {
  Sums operator()(Sums const& a, Sums const& b) const {
    return {a.count + b.count, a.sum + b.sum, maximum()(a.largest, b.largest)};
  }
};

TEST_F(DeviceFormsTest, ReductionsCombineTheValueOfEachIndexOnce) {
  expect_as_on_host([](auto const& where) {
    auto a = counted<std::int64_t, 2>({30, 47});
    auto b = counted<float, 3>({5, 6, 7});
    auto const value = [](auto const& i, ArrayIndexer<std::int64_t const, 2> x) {
      return Sums{1, x[i] * (1 + 100 * i[0] + i[1]), static_cast<double>(i[0] * i[1])};
    };
    Sums const none{0, 0, -1};
    Sums const whole = where.reduced(none, Extents<2>{30, 47}, Combine(), value, read(a));
    EXPECT_EQ(whole.count, 30 * 47);
    Sums const part = where.reduced(none, range({3, 5}, {29, 46}), Combine(), value, read(a));
    EXPECT_EQ(part.count, 26 * 41);
    EXPECT_EQ(part.largest, 28 * 45);
    Sums const nothing = where.reduced(none, range({3, 5}, {29, 5}), Combine(), value, read(a));
    EXPECT_EQ(nothing, none);
    // An element of the launch's rank, of another type than the value.
    double const elements = where.reduced(
        0.0, Extents<3>{5, 6, 7}, plus(),
        [](auto const& i, float const& x) { return x * static_cast<float>(1 + i[0] + 10 * i[1] + 50 * i[2]); },
        update(b));
    return std::vector{whole, part, {0, 0, elements}};
  });
}

TEST_F(DeviceFormsTest, ReductionsOfWholeArraysVisitAllElementsInOneDimension) {
  auto const a = counted<double, 2>({13, 31});
  auto b = counted<double, 2>({13, 31});
  b.write({7, 20}, -3.0);
  b.write({9, 4}, -3.0);
  double const expected = dot(a, b, default_stream());
  for (Grid const grid : grids) {
    detail::LaunchBox<2> box{};
    double product = 0;
    detail::launch_whole(default_stream(), detail::Multiply<double>(),
                         ReduceOnGrid<double, plus>{0, {}, &product, grid}, box, read(a), read(b));
    EXPECT_EQ(product, expected);
    using Choose = detail::ChooseLocated<minimum>;
    detail::Located<double> least{0, -1};
    detail::launch_whole(default_stream(), detail::ToLocated(),
                         ReduceOnGrid<detail::Located<double>, Choose>{{0, -1}, {}, &least, grid}, box, read(b));
    EXPECT_EQ(least.position, 7 * 31 + 20) << "the first of equal elements, in any order of combination";
    EXPECT_EQ(least.value, -3.0);
  }
}

}  // namespace
}  // namespace memarray::test
