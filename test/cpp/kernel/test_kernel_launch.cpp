// The wrappers of functors and the arguments of a launch, run as device loops on the host for each thread of a grid.
// The expected elements come from nested loops over the indices.

#include <memarray/memarray.hpp>

#include <gtest/gtest.h>
#include <memarray/detail/kernel/kernel_launch.hpp>

#include <array>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/array_test.hpp"
#include "kernel/device_grid_test.hpp"
#include "launch/strided_memory_test.hpp"

namespace memarray::test {
namespace {

using detail::IndexArray;

class KernelLaunchTest : public ArrayTest {
 protected:
  /// Runs a launch over a shape or range with a runner such as `OnGrid`.
  template <class Run, class Where, class F, class... Access>
  static void launch_with(Run const& run, Where const& where, F const& f, Access const&... accesses) {
    detail::check_and_launch(detail::box_of(where), detail::extent_of(where), default_stream(), f, run, accesses...);
  }
  template <class Run, class F, class Access>
  static void launch_over(Run const& run, F const& f, Access const& access) {
    detail::launch_over(access, default_stream(), detail::ElementFirst<F>{f}, run);
  }
  /// Calls `use.operator()<ndim>(shape)` for each rank from 1 to 4.
  template <class Use>
  static void for_each_rank(Use const& use) {
    use.template operator()<1>(Numbers<1>{129});
    use.template operator()<2>(Numbers<2>{7, 12});
    use.template operator()<3>(Numbers<3>{5, 4, 9});
    use.template operator()<4>(Numbers<4>{3, 4, 2, 5});
  }
  template <std::size_t ndim>
  static std::size_t linear(std::array<std::int64_t, ndim> const& shape, std::array<std::int64_t, ndim> const& i) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < ndim; ++d) position = position * shape[d] + i[d];
    return static_cast<std::size_t>(position);
  }
  template <std::size_t ndim>
  static std::array<std::int64_t, ndim> ones() {
    std::array<std::int64_t, ndim> result{};
    result.fill(1);
    return result;
  }
  template <std::size_t ndim>
  static std::array<std::int64_t, ndim> less(std::array<std::int64_t, ndim> numbers, std::int64_t by) {
    for (std::int64_t& number : numbers) number -= by;
    return numbers;
  }
};

template <class Indices>
std::int64_t number_of(Indices const& indices) {
  std::int64_t number = 1;
  for (std::size_t d = 0; d < indices.size(); ++d) number = 10 * number + indices[d];
  return number;
}

// --- WithOneIndex ----------------------------------------------------------------------------------------------------

/// Writes the index and its size to the element at the index.
template <class I>
constexpr auto write_index = [](I i, ArrayIndexer<std::int64_t, 1> x) {
  x[i] = 1000 * static_cast<std::int64_t>(sizeof(i)) + static_cast<std::int64_t>(i);
};
constexpr auto write_any_index = [](std::integral auto i, ArrayIndexer<std::int64_t, 1> x) {
  x[i] = 1000 * static_cast<std::int64_t>(sizeof(i)) + static_cast<std::int64_t>(i);
};

TEST_F(KernelLaunchTest, OneIndexHasTheTypeThatTheFunctorDeclares) {
  on_each_grid([](auto const& run) {
    auto const expect = [&](auto const& f, std::int64_t bytes) {
      for (auto const& [begin, end] : {std::pair(0, 300), std::pair(5, 200), std::pair(7, 7)}) {
        MemArray<std::int64_t, 1> array({300});
        array.fill(-1);
        launch_with(run, range(begin, end), f, write(array));
        std::vector<std::int64_t> expected(300, -1);
        for (std::int64_t i = begin; i < end; ++i) expected[static_cast<std::size_t>(i)] = 1000 * bytes + i;
        EXPECT_EQ(contents(array), expected);
      }
    };
    expect(write_index<std::int32_t>, 4);
    expect(write_index<std::uint32_t>, 4);
    expect(write_index<std::int64_t>, 8);
    expect(write_index<std::size_t>, 8);
    expect(write_any_index, 4);
  });
}

TEST_F(KernelLaunchTest, OneIndexMayBeNegative) {
  on_each_grid([](auto const& run) {
    MemArray<std::int64_t, 1> array({10});
    launch_with(run, range(-5, 5), [](std::int32_t i, ArrayIndexer<std::int64_t, 1> x) { x[i + 5] = i; }, write(array));
    launch_with(
        run, range(-2, 0), [](std::int64_t i, ArrayIndexer<std::int64_t, 1> x) { x[i + 5] *= 10 * i; }, write(array));
    EXPECT_EQ(contents(array), (std::vector<std::int64_t>{-5, -4, -3, 40, 10, 0, 1, 2, 3, 4}));
  });
}

TEST_F(KernelLaunchTest, OneIndexBeyond32BitsIsWideOrRefused) {
  constexpr std::int64_t far = std::int64_t{1} << 33;
  on_each_grid([](auto const& run) {
    MemArray<std::int64_t, 1> array({5});
    auto const there = range(far, far + 5);
    launch_with(run, there, [](std::int64_t i, ArrayIndexer<std::int64_t, 1> x) { x[i - far] = i; }, write(array));
    EXPECT_EQ(array({4}), far + 4);
    auto const any = [](std::integral auto i, ArrayIndexer<std::int64_t, 1> x) { x[i % 8] = 2 * i; };
    launch_with(run, there, any, write(array));
    EXPECT_EQ(array({4}), 2 * (far + 4));
    auto const never = [](std::int32_t, ArrayIndexer<std::int64_t, 1>) { FAIL(); };
    EXPECT_THROW(launch_with(run, there, never, write(array)), OverflowError);
  });
}

// --- Bundles ---------------------------------------------------------------------------------------------------------

// No other test may give a bundle this name: GCC links templates over an unnamed namespace's template as one.
template <template <class, int> class Array>
struct RankedArrays {
  Array<double, 1> line;
  Array<float, 2> plane;
  Array<std::int32_t, 3> space;
  Array<std::int16_t, 4> time;
  MEMARRAY_BUNDLE(line, plane, space, time)

  template <int ndim>
  [[nodiscard]] auto& of_rank() const {
    return std::get<static_cast<std::size_t>(ndim - 1)>(members());
  }
};

/// Sets the elements of one member.
template <class IndexT, int ndim>
struct SetMember {
  void operator()(IndexArray<IndexT, ndim> const& i, RankedArrays<Indexer> const& arrays) const {
    auto& element = arrays.of_rank<ndim>()[i];
    element = static_cast<std::remove_reference_t<decltype(element)>>(number_of(i) % 1000);
  }
};
/// Adds a member to an array of its rank.
template <class IndexT, int ndim>
struct AddMember {
  void operator()(IndexArray<IndexT, ndim> const& i, RankedArrays<ConstIndexer> const& arrays, double& element) const {
    element += 3 * static_cast<double>(arrays.of_rank<ndim>()[i]);
  }
};
template <class IndexT, int ndim>
struct MemberValue {
  std::int64_t operator()(IndexArray<IndexT, ndim> const& i, RankedArrays<ConstIndexer> const& arrays) const {
    return number_of(i) * static_cast<std::int64_t>(arrays.of_rank<ndim>()[i]);
  }
};

TEST_F(KernelLaunchTest, BundlesGiveMembersOfEachRank) {
  on_each_grid([](auto const& run) {
    for_each_rank([&]<int ndim>(Numbers<ndim> const& shape) {
      auto const expect = [&]<class IndexT>(IndexT) {
        RankedArrays<MemArray> arrays{MemArray<double, 1>({129}), MemArray<float, 2>({7, 12}),
                                      MemArray<std::int32_t, 3>({5, 4, 9}), MemArray<std::int16_t, 4>({3, 4, 2, 5})};
        MemArray<double, ndim> target(shape);
        target.fill(0.5);
        Range<static_cast<std::size_t>(ndim)> const part{ones<static_cast<std::size_t>(ndim)>(), shape};
        launch_with(run, part, SetMember<IndexT, ndim>(), write(arrays));
        launch_with(run, shape, AddMember<IndexT, ndim>(), read(arrays), update(target));
        std::int64_t sum = 5;
        detail::check_and_launch(detail::box_of(part), detail::extent_of(part), default_stream(),
                                 MemberValue<IndexT, ndim>(), ReduceOnGrid<std::int64_t, plus>{5, {}, &sum, run.grid},
                                 read(arrays));

        std::vector<double> expected(static_cast<std::size_t>(target.get_size()), 0.5);
        std::int64_t expected_sum = 5;
        visit_box(part.begin, less(shape, 1), [&](Numbers<ndim> const& i) {
          expected[linear(shape, i)] += static_cast<double>(3 * (number_of(i) % 1000));
          expected_sum += number_of(i) * (number_of(i) % 1000);
        });
        EXPECT_EQ(contents(target), expected);
        EXPECT_EQ(sum, expected_sum);
      };
      expect(std::int32_t{});
      expect(std::int64_t{});
    });
  });
}

// --- ElementFirst ----------------------------------------------------------------------------------------------------

template <class IndexT, int ndim>
struct AddNumber {
  void operator()(double& element, IndexArray<IndexT, ndim> const& i) const {
    element += static_cast<double>(number_of(i) + 100'000 * static_cast<std::int64_t>(sizeof(IndexT)));
  }
};

TEST_F(KernelLaunchTest, ElementFirstVisitsArraysAndReversedViewsOfEachRank) {
  on_each_grid([](auto const& run) {
    for_each_rank([&]<int ndim>(Numbers<ndim> const& shape) {
      auto const expect = [&]<class IndexT>(IndexT) {
        MemArray<double, ndim> array(shape);
        launch_over(run, AddNumber<IndexT, ndim>(), update(array));
        Numbers<ndim> halves = shape;
        {
          WriteLease<double, ndim> const lease(array);
          BufferView view(lease);
          for (int d = 0; d < ndim; ++d) view = view.slice(d, {.step = -2});
          for (std::int64_t& extent : halves) extent = (extent + 1) / 2;
          launch_over(run, AddNumber<IndexT, ndim>(), update<double, ndim>(view));
        }
        std::vector<double> expected(static_cast<std::size_t>(array.get_size()));
        auto const added = [](Numbers<ndim> const& i) {
          return static_cast<double>(number_of(i) + 100'000 * static_cast<std::int64_t>(sizeof(IndexT)));
        };
        visit_box({}, shape, [&](Numbers<ndim> const& i) { expected[linear(shape, i)] += added(i); });
        visit_box({}, halves, [&](Numbers<ndim> const& i) {
          Numbers<ndim> there{};
          for (std::size_t d = 0; d < there.size(); ++d) there[d] = shape[d] - 1 - 2 * i[d];
          expected[linear(shape, there)] += added(i);
        });
        EXPECT_EQ(contents(array), expected);
      };
      expect(std::int32_t{});
      expect(std::int64_t{});
    });
  });
}

TEST_F(KernelLaunchTest, ElementFirstPassesOneIndexAsTheFunctorDeclares) {
  on_each_grid([](auto const& run) {
    auto const expect = [&](auto const& f, std::int64_t bytes) {
      MemArray<std::int64_t, 1> array({77});
      array.fill(3);
      launch_over(run, f, update(array));
      for (std::int64_t i = 0; i < 77; ++i) ASSERT_EQ(array({i}), 3 + 1000 * bytes + i) << i;
    };
    auto const add = [](std::int64_t& x, auto i) {
      x += 1000 * static_cast<std::int64_t>(sizeof(i)) + static_cast<std::int64_t>(i);
    };
    expect([add](std::int64_t& x, std::int32_t i) { add(x, i); }, 4);
    expect([add](std::int64_t& x, std::int64_t i) { add(x, i); }, 8);
    expect([add](std::int64_t& x, std::size_t i) { add(x, i); }, 8);
    expect([add](std::int64_t& x, std::integral auto i) { add(x, i); }, 4);
  });
}

// --- Views -----------------------------------------------------------------------------------------------------------

template <class IndexT, int ndim>
struct AddFrom {
  void operator()(IndexArray<IndexT, ndim> const& i, StridedIndexer<double const, ndim> from, double& to) const {
    to += from[i] + static_cast<double>(1000 * number_of(i));
  }
};

TEST_F(KernelLaunchTest, BroadcastViewsGiveTheirElementsAtEachIndex) {
  on_each_grid([](auto const& run) {
    for_each_rank([&]<int ndim>(Numbers<ndim> const& shape) {
      auto const expect = [&]<class IndexT>(IndexT) {
        MemArray<double, 1> line({shape[shape.size() - 1]});
        count_up(line);
        MemArray<double, ndim> target(shape);
        Range<static_cast<std::size_t>(ndim)> const part{ones<static_cast<std::size_t>(ndim)>(), shape};
        {
          ReadLease<double, 1> const lease(line);
          // Backwards in the last dimension; the others have stride 0.
          ConstBufferView const from = ConstBufferView(lease).slice(0, {.step = -1}).broadcast_to(shape);
          launch_with(run, part, AddFrom<IndexT, ndim>(), read<double, ndim>(from), update(target));
        }
        std::vector<double> expected(static_cast<std::size_t>(target.get_size()));
        visit_box(part.begin, less(shape, 1), [&](Numbers<ndim> const& i) {
          std::int64_t const element = (shape.back() - 1 - i.back()) % 100;
          expected[linear(shape, i)] = static_cast<double>(element + 1000 * number_of(i));
        });
        EXPECT_EQ(contents(target), expected);
      };
      expect(std::int32_t{});
      expect(std::int64_t{});
    });
  });
}

}  // namespace
}  // namespace memarray::test
