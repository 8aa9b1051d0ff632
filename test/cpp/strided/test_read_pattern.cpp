#include "strided/read_pattern.hpp"
#include "strided/simd_level.hpp"

#include <memarray/array/mem_array.hpp>
#include <memarray/view/buffer_view.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace memarray::detail {
namespace {

using Cost = ReadPatternChoice::Cost;

constexpr std::size_t costs_of_each = 6;

/// Returns the pattern chosen from samples of these costs, of which some also wait for the processor or are found in
/// its caches.
ReadPattern chosen(Cost interleaved, Cost sequential) {
  std::vector<Cost> first(costs_of_each, interleaved);
  std::vector<Cost> second(costs_of_each, sequential);
  first[1] += 5'000'000;
  second[4] += 9'000'000;
  second[2] = 1;
  return ReadPatternChoice::faster(first, second);
}

TEST(ReadPattern, FasterPatternIsChosen) {
  EXPECT_EQ(chosen(90'000, 40'000), ReadPattern::sequential);
  EXPECT_EQ(chosen(40'000, 90'000), ReadPattern::interleaved);
  EXPECT_EQ(chosen(40'000, 40'000), ReadPattern::interleaved);
}

TEST(ReadPattern, SmallDifferenceKeepsTheDefault) {
  EXPECT_EQ(chosen(40'000, 35'000), ReadPattern::interleaved);
  EXPECT_EQ(chosen(40'000, 32'000), ReadPattern::sequential);
}

TEST(ReadPattern, MeasurementReadsEachSampleOnceAndPatternsByTurns) {
  ReadPatternChoice choice;
  EXPECT_FALSE(choice.is_made());
  EXPECT_EQ(choice.get(), ReadPattern::interleaved);
  int expected = 0;
  choice.measure([&](int sample, ReadPattern pattern) {
    EXPECT_EQ(sample, expected++);
    EXPECT_EQ(pattern, sample / ReadPatternChoice::turn % 2 == 0 ? ReadPattern::interleaved : ReadPattern::sequential);
    if (pattern == ReadPattern::interleaved) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 1000;
  });
  EXPECT_EQ(expected, ReadPatternChoice::samples);
  EXPECT_TRUE(choice.is_made());
  EXPECT_EQ(choice.get(), ReadPattern::sequential);
}

TEST(ReadPattern, CostsAreOfElementsNotOfSamples) {
  ReadPatternChoice choice;
  choice.measure([](int, ReadPattern pattern) {
    bool const is_large = pattern == ReadPattern::interleaved;
    std::this_thread::sleep_for(std::chrono::milliseconds(is_large ? 4 : 1));
    return is_large ? 8000 : 1000;
  });
  EXPECT_EQ(choice.get(), ReadPattern::interleaved);
}

TEST(ReadPattern, ThreadsMayMeasureAtOnce) {
  ReadPatternChoice choice;
  auto const measure = [&] {
    choice.measure([](int, ReadPattern pattern) {
      if (pattern == ReadPattern::interleaved) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 1;
    });
  };
  std::thread other(measure);
  measure();
  other.join();
  EXPECT_EQ(choice.get(), ReadPattern::sequential);
}

/// Sets both choices to `interleaved` at its end.
class KeptChoices {
 public:
  KeptChoices() = default;
  KeptChoices(KeptChoices const&) = delete;
  KeptChoices& operator=(KeptChoices const&) = delete;
  ~KeptChoices() { set(ReadPattern::interleaved); }
  static void set(ReadPattern pattern) {
    ReadPatternChoice::of_runs().set(pattern);
    ReadPatternChoice::of_rows().set(pattern);
  }
};

/// Exits with 0 if only the first large job of each kind makes its choice.
[[noreturn]] void run_first_jobs() {
  bool const unmade = !ReadPatternChoice::of_runs().is_made() && !ReadPatternChoice::of_rows().is_made();
  MemArray<float, 2> const large({4096, 4096});
  ConstBufferView const view = large.view();
  static_cast<void>(view.slice(0, {.stop = 1024}).sum());
  // Converted elements, too few pieces, and rows for which the pattern makes no difference.
  static_cast<void>(MemArray<std::int8_t, 1>({std::int64_t{1} << 26}).view().sum());
  static_cast<void>(view.slice(0, {.step = 1024}).sum());
  static_cast<void>(view.reshape({-1, 64}).slice(1, {.stop = 8}).sum());
  bool const untouched = !ReadPatternChoice::of_runs().is_made();
  static_cast<void>(view.sum());
  bool const runs = ReadPatternChoice::of_runs().is_made() && !ReadPatternChoice::of_rows().is_made();
  int const axis = 0;
  static_cast<void>(view.sum({&axis, 1}));
  bool const rows = ReadPatternChoice::of_rows().is_made();
  std::_Exit(unmade && untouched && runs && rows ? 0 : 1);
}

TEST(ReadPatternDeathTest, FirstLargeJobOfEachKindDecides) {
  // A choice is made once in a process: this starts one.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_first_jobs(), ::testing::ExitedWithCode(0), "");
}

std::string bytes_of(BufferView const& view) {
  BufferView const dense = view.copy();
  auto const size = static_cast<std::size_t>(dense.size()) * dense.dtype().itemsize;
  return {reinterpret_cast<char const*>(dense.core().data()), size};
}

std::vector<std::string> results(ConstBufferView const& view, ReadPattern pattern) {
  KeptChoices const kept;
  KeptChoices::set(pattern);
  std::vector<std::string> all;
  for (SimdLevel const widest : {SimdLevel::baseline, SimdLevel::avx512}) {
    SimdLevel const before = limit_simd_level(widest);
    all.push_back(bytes_of(view.sum()));
    all.push_back(bytes_of(view.min()));
    for (int axis = 0; axis < view.ndim(); ++axis) {
      all.push_back(bytes_of(view.sum({&axis, 1})));
      all.push_back(bytes_of(view.max({&axis, 1})));
    }
    limit_simd_level(before);
  }
  return all;
}

template <class T>
class ReadPatternTypedTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(ReadPatternTypedTest, Types);

TYPED_TEST(ReadPatternTypedTest, ResultsAreBitwiseEqualWithBothPatterns) {
  using T = TypeParam;
  MemArray<T, 1> array({std::int64_t{96} * 130 * 64});
  std::mt19937 random(7);
  for (std::int64_t i = 0; i < array.get_size(); ++i) {
    if constexpr (std::is_floating_point_v<T>)
      array.ptr()[i] = static_cast<T>(std::ldexp(random() / 7.0, -static_cast<int>(random() % 30)));
    else
      array.ptr()[i] = static_cast<T>(random());
  }
  ConstBufferView const dense = array.view();
  auto const shaped = [&](std::vector<std::int64_t> const& shape) { return dense.reshape(shape); };
  ConstBufferView const plane = shaped({std::int64_t{96} * 130, 64});
  ConstBufferView const wide = shaped({12, std::int64_t{8} * 130 * 64});
  ConstBufferView const cube = shaped({96, 130, 64});
  // Short runs of pages, far apart.
  ConstBufferView const pages = shaped({96, std::int64_t{130} * 64});
  std::pair<char const*, ConstBufferView> const views[] = {
      {"dense", dense},
      {"reversed", dense.slice(0, {.step = -1})},
      {"every second", dense.slice(0, {.step = 2})},
      {"rows", plane},
      {"long rows", wide},
      {"rows with small gaps", plane.slice(1, {.start = 1, .stop = 62})},
      {"rows of some pages", pages.slice(1, {.start = 100, .stop = 2500})},
      {"rows with large gaps", wide.slice(1, {.start = 100, .stop = 30'000})},
      {"inside of a cube", cube.slice(0, {.start = 1, .stop = -1}).slice(1, {.start = 1}).slice(2, {.stop = -1})},
      {"a column", plane.select(1, 5)},
      {"a column of short rows", shaped({-1, 16}).select(1, 3)},
      {"some columns", plane.slice(1, {.start = 4, .stop = 8})},
  };
  for (auto const& [name, view] : views)
    EXPECT_EQ(results(view, ReadPattern::interleaved), results(view, ReadPattern::sequential)) << name;
}

}  // namespace
}  // namespace memarray::detail
