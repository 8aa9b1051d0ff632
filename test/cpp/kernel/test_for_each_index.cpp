#include <memarray/kernel/for_each_index.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <cuda/std/array>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

/// Runs each test with one thread and with two.
class ForEachIndexTest : public ArrayTest, public ::testing::WithParamInterface<int> {
 protected:
  ForEachIndexTest() : _before(options().threads.exchange(GetParam())) {}
  ~ForEachIndexTest() override { options().threads = _before; }

 private:
  int _before;
};
INSTANTIATE_TEST_SUITE_P(Threads, ForEachIndexTest, ::testing::Values(1, 2),
                         [](auto const& info) { return std::to_string(info.param); });

/// Adds 1 plus its linear index to each element, with indices of either width.
template <int ndim>
struct AddLinear {
  std::array<std::int64_t, ndim> shape;
  template <class T, class Indices>
  void operator()(T& element, Indices const& indices) const {
    std::int64_t linear = 0;
    for (int d = 0; d < ndim; ++d)
      linear = linear * shape[static_cast<std::size_t>(d)] + indices[static_cast<std::size_t>(d)];
    element += static_cast<T>(linear + 1);
  }
};

template <int ndim>
void visit_all(std::array<std::int64_t, ndim> const& shape) {
  MemArray<std::int32_t, ndim> array(shape);
  for_each_index(array, default_stream(), AddLinear<ndim>{shape});
  auto const elements = contents(array);
  for (std::size_t i = 0; i < elements.size(); ++i)
    ASSERT_EQ(elements[i], static_cast<std::int32_t>(i + 1)) << "visited never, twice or with wrong indices";
  std::vector<std::atomic<char>> visits(elements.size());
  for_each_index(
      shape, default_stream(),
      [&](auto const& indices, auto view) { ++visits[static_cast<std::size_t>(view(indices))]; }, read(array));
  for (auto const& count : visits) ASSERT_EQ(count, 1);
}

TEST_P(ForEachIndexTest, VisitsEachElementOnceWithItsIndices) {
  for (std::int64_t const n : {1, 2, 3, 7, 63, 64, 65, 4096, 400'001}) {
    visit_all<1>({n});
    visit_all<2>({n, 1});
    visit_all<2>({1, n});
  }
  for (std::int64_t const n : {2, 3, 4, 5, 31}) {
    visit_all<2>({n, 70'000});
    visit_all<2>({70'000, n});
    visit_all<3>({n, 300, n});
    visit_all<3>({300, n, n});
    visit_all<3>({n, n, 3000});
    visit_all<4>({n, n, n, n});
    visit_all<4>({1, n, 1, n});
    visit_all<5>({n, 2, n, 2, n});
    visit_all<6>({n, 2, 3, n, 1, n});
  }
}

TEST_P(ForEachIndexTest, FunctorIsNotCalledForEmptyShapes) {
  for (std::array<std::int64_t, 3> const shape :
       {std::array<std::int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
    MemArray<float, 3> array(shape);
    for_each_index(array, default_stream(), [](float&, auto const&) { FAIL(); });
    MemArray<float, 3> other(shape);
    for_each_index(shape, default_stream(), [](auto const&, auto, float&) { FAIL(); }, read(array), update(other));
  }
}

template <int width>
struct ExpectsWidth {
  template <class Indices, class Array>
  void operator()(Indices const& indices, Array const&) const {
    static_assert(std::is_same_v<Indices, cuda::std::array<std::int32_t, 2>> ||
                  std::is_same_v<Indices, cuda::std::array<std::int64_t, 2>>);
    ASSERT_EQ(sizeof(indices[0]), width);
  }
};

TEST_P(ForEachIndexTest, TemplatedFunctorsGet32BitIndicesWhereTheSizeAllows) {
  MemArray<std::int8_t, 2> const array({3, 5});
  for_each_index({3, 5}, default_stream(), ExpectsWidth<4>{}, read(array));
  // An empty launch of a huge shape also chooses its index width by size.
  for_each_index({std::int64_t{1} << 40, 0}, default_stream(), ExpectsWidth<4>{}, read(array));
  bool wide = false;
  for_each_index(
      {2, 2}, default_stream(),
      [&](cuda::std::array<std::int64_t, 2> indices, ArrayIndexer<std::int8_t const, 2>) {
        wide = sizeof(indices[0]) == 8;
      },
      read(array));
  EXPECT_TRUE(wide) << "a functor that says std::int64_t gets it";
}

struct StopsEarly {
  template <class Indices>
  void operator()(Indices const& indices, ArrayIndexer<std::int8_t const, 2> const&) const {
    static_assert(sizeof(indices[0]) >= 4);
    throw static_cast<int>(sizeof(indices[0]));
  }
};

TEST_P(ForEachIndexTest, TemplatedFunctorsGet64BitIndicesForLargeShapes) {
  MemArray<std::int8_t, 2> const array({1, 1});
  try {
    for_each_index({std::int64_t{1} << 20, 4096}, default_stream(), StopsEarly{}, read(array));
    FAIL();
  } catch (int bytes) {
    EXPECT_EQ(bytes, 8);
  }
}

TEST_P(ForEachIndexTest, PassesEachArrayWithTheRequestedAccess) {
  MemArray<double, 2> a({3, 4});
  MemArray<float, 1> b({5});
  MemArray<std::int32_t, 2> c({3, 4});
  MemArray<std::int64_t, 2> d({3, 4});
  count_up(a);
  d.fill(10);
  for_each_index(
      {3, 4}, default_stream(),
      [](auto const& indices, auto x, auto y, auto z, auto& w) {
        static_assert(std::is_same_v<decltype(x), ArrayIndexer<double const, 2>>);
        static_assert(std::is_same_v<decltype(y), ArrayIndexer<float, 1>>);
        static_assert(std::is_same_v<decltype(z), ArrayIndexer<std::int32_t, 2>>);
        static_assert(std::is_same_v<decltype(w), std::int64_t&>);
        if (indices[0] == 0) y[{indices[1]}] = static_cast<float>(x[indices]);
        z[indices] = static_cast<std::int32_t>(2 * x[indices]);
        w += static_cast<std::int64_t>(x[indices]);
      },
      read(a), write(b), overwrite(c), update(d));
  EXPECT_EQ(contents(b), (std::vector<float>{0, 1, 2, 3, 0}));
  EXPECT_EQ(c({2, 3}), 22);
  EXPECT_EQ(d({2, 3}), 21);
  EXPECT_EQ(copies(), 0);
}

TEST_P(ForEachIndexTest, UpdateReadsTheOldVersionAndWritesTheNew) {
  MemArray<std::int64_t, 2> array({700, 300});
  MemArray<std::int64_t, 2> other({700, 300});
  for_each_index(array, default_stream(), [](std::int64_t& e, auto const& i) { e = i[0] * 1000 + i[1]; });
  View<std::int64_t> const kept = escaped_read_only(array);
  for_each_index(
      array.get_shape(), default_stream(),
      [](auto const&, std::int64_t& e, std::int64_t& f) {
        f = e;
        e = -e;
      },
      update(array), update(other));
  for (std::int64_t i = 0; i < 700; i += 13)
    for (std::int64_t j = 0; j < 300; j += 7) {
      ASSERT_EQ(array({i, j}), -(i * 1000 + j));
      ASSERT_EQ(other({i, j}), i * 1000 + j);
      ASSERT_EQ(kept.data()[i * 300 + j], i * 1000 + j);
    }
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(versions(), 1) << "the other had no views and was updated in place";
}

TEST_P(ForEachIndexTest, ExceptionsPropagateAndReleaseTheLocks) {
  MemArray<float, 1> array({1 << 20});
  MemArray<float, 1> other({1 << 20});
  auto const fails = [](auto const& i, auto x, auto& y) {
    y = x[i];
    if (i[0] == 777'777) throw std::domain_error("in the functor");
  };
  EXPECT_EQ(message_of<std::domain_error>(
                [&] { for_each_index(array.get_shape(), default_stream(), fails, read(array), update(other)); }),
            "in the functor");
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
  EXPECT_THROW(for_each_index(array, default_stream(), [](float&, auto const&) { throw 1; }), int);
  array.fill(1);
}

TEST_P(ForEachIndexTest, LocksAllArraysOrNone) {
  MemArray<float, 1> a({4});
  MemArray<float, 1> b({4});
  MemArray<float, 1> c({4});
  auto const never = [](auto const&, auto, auto, auto&) { FAIL(); };
  ReadLease const lease(b);
  EXPECT_THROW(for_each_index({4}, default_stream(), never, read(a), write(b), update(c)), LockError);
  EXPECT_THROW(for_each_index({4}, default_stream(), never, write(c), overwrite(b), update(a)), LockError);
  EXPECT_EQ(a.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(c.state().lock().word().load(), detail::LockWord::free);
  for_each_index({4}, default_stream(), [](auto const&, auto, auto, auto&) {}, write(c), read(b), update(a));
}

TEST_P(ForEachIndexTest, UpdatedAndOverwrittenArraysMustHaveTheLaunchShape) {
  MemArray<float, 2> a({3, 4});
  a.fill(1);
  auto const nothing = [](auto const&, auto&&) {};
  for (std::array<std::int64_t, 2> const wrong : {std::array<std::int64_t, 2>{3, 3}, {4, 3}, {2, 6}, {0, 0}}) {
    auto const words = message_of<ValueError>([&] { for_each_index(wrong, default_stream(), nothing, update(a)); });
    EXPECT_NE(words.find("(3, 4)"), std::string::npos) << words;
    EXPECT_THROW(for_each_index(wrong, default_stream(), nothing, overwrite(a)), ValueError);
    EXPECT_NO_THROW(for_each_index(wrong, default_stream(), nothing, read(a)));
    EXPECT_NO_THROW(for_each_index(wrong, default_stream(), nothing, write(a)));
  }
  EXPECT_EQ(a({2, 3}), 1);
  EXPECT_EQ(a.state().lock().word().load(), detail::LockWord::free);
}

TEST_P(ForEachIndexTest, InvalidShapesAreRefused) {
  MemArray<float, 2> const a({3, 4});
  auto const never = [](auto const&, auto) { FAIL(); };
  EXPECT_THROW(for_each_index({-1, 4}, default_stream(), never, read(a)), ValueError);
  EXPECT_THROW(for_each_index({std::int64_t{1} << 40, std::int64_t{1} << 40}, default_stream(), never, read(a)),
               OverflowError);
}

TEST_P(ForEachIndexTest, OneArrayMayBeGivenTwiceOnlyToBeRead) {
  MemArray<float, 1> a({4});
  std::atomic<int> calls{0};
  for_each_index(
      {4}, default_stream(), [&](auto const& i, auto x, auto y) { calls += x.get(0) == y.get(0) && i[0] >= 0; },
      read(a), read(a));
  EXPECT_EQ(calls, 4);
  auto const never = [](auto const&, auto&&, auto&&) { FAIL(); };
  EXPECT_NE(
      message_of<LockError>([&] { for_each_index({4}, default_stream(), never, read(a), update(a)); }).find("twice"),
      std::string::npos);
  EXPECT_THROW(for_each_index({4}, default_stream(), never, write(a), write(a)), LockError);
  WriteLease const lease(a);
  EXPECT_THROW(for_each_index({4}, default_stream(), never, read(a, lease.lock_id()), overwrite(a, lease.lock_id())),
               LockError);
}

TEST_P(ForEachIndexTest, NewLaunchIsRefusedWhileAWriterWaits) {
  MemArray<float, 1> a({1});
  std::optional<std::thread> writer;
  for_each_index(
      {1}, default_stream(),
      [&](auto const&, auto) {
        // A writer starts to wait during the read, so a new launch that reads is refused. A second read within a launch
        // would not be.
        writer.emplace([&] { WriteLease<float, 1> const lease(a, {.timeout = std::nullopt}); });
        while (!a.state().lock().word().writer_waits()) std::this_thread::yield();
        EXPECT_THROW(for_each_index({1}, default_stream(), [](auto const&, auto) {}, read(a)), LockError);
      },
      read(a));
  writer->join();
}

TEST_P(ForEachIndexTest, CanBeNested) {
  MemArray<std::int64_t, 1> outer({64});
  std::vector<MemArray<std::int64_t, 1>> inner;
  for (int i = 0; i < 64; ++i) inner.emplace_back(MemArray<std::int64_t, 1>({100}));
  for_each_index(outer, default_stream(), [&](std::int64_t& e, auto const& i) {
    auto& own = inner[static_cast<std::size_t>(i[0])];
    for_each_index(own, default_stream(), [&](std::int64_t& f, auto const& j) { f = i[0] * j[0]; });
    e = sum(own, default_stream());
  });
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_EQ(outer({i}), i * 4950);
}

TEST_P(ForEachIndexTest, RunsFromSeveralThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      MemArray<float, 2> array({600, 600});
      for (int i = 0; i < 10; ++i) for_each_index(array, default_stream(), [](float& e, auto const&) { e += 1; });
      wrong += sum(array, default_stream()) != 10.0 * 600 * 600;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// 512 KiB, too small to be shared out for its size alone.
constexpr std::int64_t half_a_mebibyte = 65536;

TEST_P(ForEachIndexTest, LongLoopOverHalfAMebibyteUsesAllThreads) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t const wanted = static_cast<std::size_t>(GetParam());
  for (int round = 0; round < 3 || (seen.size() < wanted && std::chrono::steady_clock::now() < end); ++round) {
    MemArray<std::int64_t, 1> array({half_a_mebibyte});
    for_each_index(array, default_stream(), [&](std::int64_t& element, auto const& at) {
      element += 1;
      if (at[0] % 1024 != 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      std::lock_guard const guard(mutex);
      seen.insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(seen.size(), wanted);
  EXPECT_TRUE(seen.contains(std::this_thread::get_id()));
}

TEST_P(ForEachIndexTest, OutOfMemoryUnderEscapedViewsChangesNoArray) {
  FailingResource::Control memory;
  MemArray<double, 1> tight({8}, 0, {.resource = FailingResource(memory)});
  MemArray<double, 1> other({8});
  count_up(tight);
  auto const before = contents(tight);
  View<double> const view = escaped_read_only(tight);
  memory.until_failure = 0;
  auto const never = [](auto const&, auto&&...) { FAIL(); };
  EXPECT_THROW(for_each_index({8}, default_stream(), never, update(other), update(tight)), OutOfMemoryError);
  EXPECT_THROW(for_each_index({8}, default_stream(), never, update(other), write(tight)), OutOfMemoryError);
  EXPECT_THROW(for_each_index({8}, default_stream(), never, overwrite(tight), update(other)), OutOfMemoryError);
  EXPECT_EQ(contents(tight), before);
  EXPECT_EQ(tight.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
}

}  // namespace
}  // namespace memarray::test
