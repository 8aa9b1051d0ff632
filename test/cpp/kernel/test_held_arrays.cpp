// Launches over twenty arrays of all dtypes, given one by one or as a bundle.

#include <memarray/detail/kernel/held_arrays.hpp>

#include <memarray/kernel/hold.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/places_test.hpp"

namespace memarray::test {

struct HeldPoint {
  float x, y, z;
};

}  // namespace memarray::test

MEMARRAY_DTYPE(memarray::test::HeldPoint);

namespace memarray::test {
namespace {

constexpr std::int64_t length = 30;
constexpr std::size_t count = 20;

// Conversions between elements and small numbers.
template <class T>
T element_of(std::int64_t number) {
  if constexpr (std::is_same_v<T, HeldPoint>)
    return {0, static_cast<float>(number), 1};
  else
    return static_cast<T>(static_cast<float>(number));
}
template <class T>
std::int64_t number_of(T const& element) {
  if constexpr (std::is_same_v<T, HeldPoint>)
    return static_cast<std::int64_t>(element.y);
  else if constexpr (requires { element.real(); })
    return static_cast<std::int64_t>(element.real());
  else
    return static_cast<std::int64_t>(static_cast<float>(element));
}

// All shipped dtypes and a struct.
template <template <class, int> class Array>
struct TwentyArrays {
  Array<bool, 1> a;
  Array<std::int8_t, 1> b;
  Array<std::int16_t, 1> c;
  Array<std::int32_t, 1> d;
  Array<std::int64_t, 1> e;
  Array<std::uint8_t, 1> f;
  Array<std::uint16_t, 1> g;
  Array<std::uint32_t, 1> h;
  Array<std::uint64_t, 1> i;
  Array<float16, 1> j;
  Array<bfloat16, 1> k;
  Array<float, 1> l;
  Array<double, 1> m;
  Array<std::complex<float>, 1> n;
  Array<std::complex<double>, 1> o;
  Array<HeldPoint, 1> p;
  Array<float, 1> q;
  Array<bool, 1> r;
  Array<double, 1> s;
  Array<std::int64_t, 1> t;
  MEMARRAY_BUNDLE(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
};

/// Like the kernel, for vectors of numbers: each fourth array is read, and its element added to the next three.
struct Expected {
  std::array<std::vector<std::int64_t>, count> numbers;

  void launch(std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      auto const at = static_cast<std::size_t>(i);
      for (std::size_t a = 0; a < count; ++a) {
        if (a % 4 == 0) continue;
        std::int64_t& number = numbers[a][at];
        std::int64_t const old = a % 4 == 2 ? 0 : number;
        number = old + numbers[a - a % 4][at] + static_cast<std::int64_t>(a % 3);
        if (a == 17) number = number != 0 ? 1 : 0;
      }
    }
  }
};

struct Touch {
  template <class... Argument>
  void operator()(std::int64_t i, Argument&&... arguments) const {
    std::size_t a = 0;
    std::int64_t read = 0;
    (touch(a++, i, read, arguments), ...);
  }

 private:
  template <class T>
  static void touch(std::size_t, std::int64_t i, std::int64_t& read, ArrayIndexer<T const, 1> const& from) {
    read = number_of(from[i]);
  }
  template <class T>
  static void touch(std::size_t a, std::int64_t i, std::int64_t read, ArrayIndexer<T, 1> const& to)
    requires(!std::is_const_v<T>)
  {
    change(a, read, to[i], a % 4 == 1);
  }
  template <Element T>
  static void touch(std::size_t a, std::int64_t, std::int64_t read, T& element) {
    change(a, read, element, true);
  }
  template <class T>
  static void change(std::size_t a, std::int64_t read, T& element, bool uses_old) {
    element = element_of<T>((uses_old ? number_of(element) : 0) + read + static_cast<std::int64_t>(a % 3));
  }
};

class HeldArraysTest : public PlacesTest {
 protected:
  HeldArraysTest() {
    int a = 0;
    for_each_array([&]<class T>(MemArray<T, 1>& array) {
      std::vector<std::int64_t>& numbers = expected.numbers[static_cast<std::size_t>(a)];
      bool const is_bool = std::is_same_v<T, bool>;
      for (std::int64_t i = 0; i < length; ++i) {
        numbers.push_back((i + a) % (is_bool ? 2 : 7));
        array.write({i}, element_of<T>(numbers.back()));
      }
      place(array);
      ++a;
    });
  }
  template <class Use>
  void for_each_array(Use const& use) {
    std::apply([&](auto&... array) { (use(array), ...); }, arrays.members());
  }
  template <std::size_t a>
  [[nodiscard]] auto access_to() {
    auto& array = std::get<a>(arrays.members());
    if constexpr (a % 4 == 0)
      return read(array);
    else if constexpr (a % 4 == 1)
      return write(array);
    else if constexpr (a % 4 == 2)
      return overwrite(array);
    else
      return update(array);
  }
  /// Calls `use(accesses…)`: read, write, overwrite and update in turn.
  template <class Use>
  decltype(auto) with_accesses(Use const& use) {
    return [&]<std::size_t... a>(std::index_sequence<a...>) -> decltype(auto) {
      return use(access_to<a>()...);
    }(std::make_index_sequence<count>());
  }
  void expect_numbers() {
    std::size_t a = 0;
    for_each_array([&](auto& array) {
      std::vector<std::int64_t> found;
      for (auto const& element : fetched(array)) found.push_back(number_of(element));
      EXPECT_EQ(found, expected.numbers[a]) << "array " << a;
      ++a;
    });
  }
  void expect_all_free() {
    for_each_array([](auto& array) {
      EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free) << array.state().describe();
    });
  }
  /// Returns the calls that order streams.
  [[nodiscard]] std::uint64_t ordering_calls() const {
    return devices ? devices->calls("cuStreamWaitEvent") + devices->calls("cuEventRecord") : 0;
  }

  TwentyArrays<MemArray> arrays{MemArray<bool, 1>({length}),
                                MemArray<std::int8_t, 1>({length}),
                                MemArray<std::int16_t, 1>({length}),
                                MemArray<std::int32_t, 1>({length}),
                                MemArray<std::int64_t, 1>({length}),
                                MemArray<std::uint8_t, 1>({length}),
                                MemArray<std::uint16_t, 1>({length}),
                                MemArray<std::uint32_t, 1>({length}),
                                MemArray<std::uint64_t, 1>({length}),
                                MemArray<float16, 1>({length}),
                                MemArray<bfloat16, 1>({length}),
                                MemArray<float, 1>({length}),
                                MemArray<double, 1>({length}),
                                MemArray<std::complex<float>, 1>({length}),
                                MemArray<std::complex<double>, 1>({length}),
                                MemArray<HeldPoint, 1>({length}),
                                MemArray<float, 1>({length}),
                                MemArray<bool, 1>({length}),
                                MemArray<double, 1>({length}),
                                MemArray<std::int64_t, 1>({length})};
  Expected expected;
};
INSTANTIATE_TEST_SUITE_P(Places, HeldArraysTest, ::testing::Values(1, 2, 0), name_of_place);

TEST_P(HeldArraysTest, OneLaunchUsesTwentyArraysOfAllDTypes) {
  with_accesses([&](auto const&... accesses) { for_each_index({length}, stream, Touch(), accesses...); });
  expect_all_free();
  expected.launch(0, length);
  expect_numbers();
}

TEST_P(HeldArraysTest, TwentyArraysAreHeldForManyLaunches) {
  std::uint64_t before = 0;
  {
    auto held = with_accesses([&](auto const&... accesses) { return hold(stream, accesses...); });
    EXPECT_THROW(static_cast<void>(ReadLease(arrays.t)), LockError);
    EXPECT_THROW(static_cast<void>(WriteLease(arrays.a)), LockError);
    before = ordering_calls();
    for (int step = 0; step < 3; ++step) held.for_each_index({length}, Touch());
    held.for_each_index(range(4, 9), Touch());
    EXPECT_EQ(ordering_calls(), before) << "no order between the launches of a hold";
  }
  if (devices) {
    EXPECT_GT(ordering_calls(), before) << "the end of the hold is an event";
  }
  expect_all_free();
  for (int step = 0; step < 3; ++step) expected.launch(0, length);
  expected.launch(4, 9);
  expect_numbers();
  EXPECT_EQ(versions(), 0);
}

TEST_P(HeldArraysTest, NoneOfTwentyArraysIsHeldIfOneIsRefused) {
  auto const use = [&] { return with_accesses([&](auto const&... accesses) { return hold(stream, accesses...); }); };
  {
    ReadLease<std::int64_t, 1> const lease(arrays.t);
    EXPECT_THROW(static_cast<void>(use()), LockError) << "the last array is written";
    EXPECT_NO_THROW(static_cast<void>(WriteLease(arrays.a)));
    EXPECT_NO_THROW(static_cast<void>(WriteLease(arrays.s)));
  }
  with_accesses([&](auto const&... accesses) {
    EXPECT_THROW(static_cast<void>(hold(stream, accesses..., read(arrays.b))), LockError) << "b is given twice";
  });
  expect_all_free();
  expect_numbers();
}

TEST_P(HeldArraysTest, EscapedViewsOfOneOfTwentyArraysKeepItsOldElements) {
  WriteLease<double, 1> lease(arrays.s);
  ConstBufferView const view(lease);
  lease.close();
  auto const before = contents_of(view);
  with_accesses([&](auto const&... accesses) { for_each_index(range(3, 11), stream, Touch(), accesses...); });
  EXPECT_EQ(contents_of(view), before);
  expected.launch(3, 11);
  expect_numbers();
}

TEST_P(HeldArraysTest, BundleOfTwentyArraysGivesEachByItsName) {
  auto const sum_of = [](std::int64_t i, TwentyArrays<ConstIndexer> const& own) {
    std::int64_t weight = 1;
    std::int64_t sum = 0;
    std::apply([&](auto const&... member) { ((sum += weight++ * number_of(member[i])), ...); }, own.members());
    return sum;
  };
  auto const expected_sum = [&] {
    std::int64_t sum = 0;
    for (std::size_t a = 0; a < count; ++a)
      for (std::int64_t const number : expected.numbers[a]) sum += static_cast<std::int64_t>(a + 1) * number;
    return sum;
  };
  auto const sum = [&] {
    return transform_reduce({length}, stream, std::int64_t{0}, plus(), sum_of, read(std::as_const(arrays)));
  };
  EXPECT_EQ(sum(), expected_sum());

  auto const change = [](std::int64_t i, TwentyArrays<Indexer> const& own) {
    own.a[i] = own.a[i] != own.r[i];
    own.c[i] = static_cast<std::int16_t>(own.b[i] + 2);
    own.j[i] = element_of<float16>(number_of(own.k[i]) + 3);
    own.n[i] = {4, static_cast<float>(i)};
    own.p[i].y = static_cast<float>(own.e[i]);
    own.t[i] += static_cast<std::int64_t>(own.m[i]);
  };
  auto const change_expected = [&](std::int64_t begin, std::int64_t end) {
    auto& numbers = expected.numbers;
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      numbers[0][i] = numbers[0][i] != numbers[17][i] ? 1 : 0;
      numbers[2][i] = numbers[1][i] + 2;
      numbers[9][i] = numbers[10][i] + 3;
      numbers[13][i] = 4;
      numbers[15][i] = numbers[4][i];
      numbers[19][i] += numbers[12][i];
    }
  };
  for_each_index({length}, stream, change, write(arrays));
  change_expected(0, length);
  {
    auto held = hold(stream, write(arrays));
    EXPECT_THROW(static_cast<void>(ReadLease(arrays.t)), LockError);
    EXPECT_THROW(static_cast<void>(ReadLease(arrays.a)), LockError);
    std::uint64_t const before = ordering_calls();
    for (int step = 0; step < 2; ++step) held.for_each_index(range(5, 25), change);
    EXPECT_EQ(ordering_calls(), before);
  }
  for (int step = 0; step < 2; ++step) change_expected(5, 25);
  EXPECT_EQ(sum(), expected_sum());
  EXPECT_THROW(
      for_each_index({length}, stream, [](auto, auto const&, auto) {}, write(arrays), read(arrays.t)), LockError);
  expect_all_free();
  expect_numbers();
}

}  // namespace
}  // namespace memarray::test
