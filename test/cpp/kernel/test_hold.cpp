#include <memarray/kernel/hold.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernel/places_test.hpp"
#include "state/shared_test.hpp"

namespace memarray::test {
namespace {

class HoldTest : public PlacesTest {};
INSTANTIATE_TEST_SUITE_P(Places, HoldTest, ::testing::Values(1, 2, 0), name_of_place);

TEST_P(HoldTest, ManyLaunchesRunUnderOneHold) {
  MemArray<double, 1> mass({100});
  MemArray<double, 1> speed({100});
  MemArray<double, 1> path({100});
  mass.fill(2);
  place(mass);
  place(speed);
  place(path);
  {
    auto held = hold(stream, read(mass), update(speed), overwrite(path));
    EXPECT_EQ(mass.get_lock_id(), -1) << "only read";
    EXPECT_THROW(static_cast<void>(WriteLease<double, 1>(mass)), LockError);
    EXPECT_THROW(static_cast<void>(ReadLease<double, 1>(speed)), LockError);
    EXPECT_THROW(for_each_index(path, stream, [](double&, std::int64_t) { FAIL(); }), LockError);
    for (int step = 0; step < 5; ++step)
      held.for_each_index({100}, [](std::int64_t i, auto masses, double& own, auto paths) {
        own += masses[i];
        paths[i] = 10 * own;
      });
    held.for_each_index(range(10, 20), [](std::int64_t, auto, double& own, auto) { own = -1; });
    double const total =
        held.transform_reduce({100}, 0.0, plus{}, [](std::int64_t i, auto, auto, auto paths) { return paths[i]; });
    EXPECT_EQ(total, 100 * 100.0);
    EXPECT_EQ(
        held.transform_reduce(interior({100}, 10), 0.0, minimum{}, [](auto, auto, auto own, auto) { return own; }), -1);
  }
  auto const speeds = fetched(speed);
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(speeds[i], i >= 10 && i < 20 ? -1 : 10) << i;
  EXPECT_EQ(versions(), 0);
}

TEST_P(HoldTest, ExtentsAndRanksMustFit) {
  MemArray<float, 1> a({10});
  MemArray<float, 1> b({12});
  place(a);
  place(b);
  auto held = hold(stream, read(a), update(b));
  auto const never = [](std::int64_t, auto, float&) { FAIL(); };
  EXPECT_THROW(held.for_each_index({10}, never), ValueError) << "another shape than that of b";
  EXPECT_THROW(held.for_each_index(range(5, 13), never), ValueError);
  EXPECT_THROW(held.for_each_index(range(-1, 5), never), ValueError);
}

TEST_P(HoldTest, EscapedViewsAreCopiedOnce) {
  MemArray<double, 1> array({8});
  MemArray<double, 1> other({8});
  count_up(array);
  place(array);
  place(other);
  auto const before = contents_of(array);
  {
    WriteLease<double, 1> lease(array);
    ConstBufferView const view(lease);
    lease.close();
    auto const reported = copies();
    {
      auto held = hold(stream, update(array), write(other));
      for (int step = 0; step < 3; ++step)
        held.for_each_index({8}, [](std::int64_t i, double& own, auto others) {
          own += 1;
          others[i] = own;
        });
    }
    EXPECT_EQ(copies(), reported + 1);
    EXPECT_EQ(contents_of(view), before) << "the view keeps the old contents";
  }
  auto const after = fetched(array);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(after[i], before[i] + 3);
}

TEST_P(HoldTest, AfterAThrowingKernelEscapedViewsStillShowTheArray) {
  if (devices) GTEST_SKIP() << "kernels of devices do not throw";
  MemArray<double, 1> array({8});
  count_up(array);
  auto const before = contents(array);
  {
    WriteLease<double, 1> lease(array);
    ConstBufferView const view(lease);
    lease.close();
    auto held = hold(update(array));
    held.for_each_index({8}, [](std::int64_t, double& own) { own = 5; });
    EXPECT_THROW(held.for_each_index({8}, [](std::int64_t, double&) { throw std::runtime_error("kernel"); }),
                 std::runtime_error);
  }
  EXPECT_EQ(contents(array), before);
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
}

TEST_P(HoldTest, IsAllOrNothing) {
  MemArray<double, 1> a({4});
  MemArray<double, 1> b({4});
  MemArray<double, 1> elsewhere({4});
  place(a);
  place(b);
  if (devices) elsewhere.move_memory(kDLCUDA, 0, 1);
  {
    WriteLease<double, 1> const lease(b);
    EXPECT_THROW(static_cast<void>(hold(stream, write(a), read(b))), LockError);
    EXPECT_EQ(a.get_lock_id(), -1);
  }
  EXPECT_THROW(static_cast<void>(hold(stream, read(a), write(a))), LockError);
  EXPECT_THROW(static_cast<void>(hold(StreamHandle(), read(a))), ValueError);
  if (devices) {
    EXPECT_THROW(static_cast<void>(hold(stream, read(a), write(elsewhere))), Error);
  }
  EXPECT_EQ(a.state().lock().word().load(), detail::LockWord::free);
}

TEST_P(HoldTest, AnArrayThatIsReplacedInAKernelLivesUntilTheEnd) {
  if (devices) GTEST_SKIP() << "a kernel of a device cannot reach the MemArray";
  MemArray<double, 1> array({4});
  array.fill(3);
  std::vector<double> seen;
  {
    auto held = hold(launch{.threads = 1}, read(array));
    held.for_each_index({4}, [&](std::int64_t i, auto old) {
      if (i == 0) array = MemArray<double, 1>({2});
      seen.push_back(old[i]);
    });
  }
  EXPECT_EQ(seen, std::vector<double>(4, 3));
  EXPECT_EQ(array.get_size(), 2);
}

TEST_P(HoldTest, AnArrayWithEscapedViewsThatIsReplacedLivesUntilTheEnd) {
  MemArray<double, 1> array({1000});
  array.fill(3);
  place(array);
  ConstBufferView const frame = array.view();
  {
    auto held = hold(stream, update(array));
    array = MemArray<double, 1>({1000});
    // Takes the memory of the replaced array's state if that is free.
    MemArray<double, 1> other({1000});
    held.for_each_index({1000}, [](std::int64_t, double& x) { x += 1; });
    EXPECT_EQ(sum(other, stream), 0);
    other.fill(5);
    EXPECT_EQ(sum(other, stream), 5000);
  }
  EXPECT_EQ(sum(array, stream), 0);
  array.fill(1);
  EXPECT_EQ(contents_of(frame), std::vector<double>(1000, 3));
}

TEST_P(HoldTest, AnArrayWithEscapedViewsThatAKernelReplacesLivesUntilTheEnd) {
  if (devices) GTEST_SKIP() << "a kernel of a device cannot reach the MemArray";
  for (bool const reads : {true, false}) {
    MemArray<double, 1> array({1000});
    array.fill(3);
    ConstBufferView const frame = array.view();
    std::optional<MemArray<double, 1>> other;
    double seen = 0;
    auto const replace = [&](std::int64_t i, double old) {
      if (i == 500) {
        array = MemArray<double, 1>({1000});
        other.emplace(std::array<std::int64_t, 1>{1000});
      }
      seen += old;
    };
    if (reads)
      for_each_index({1000}, launch{.threads = 1}, [&](std::int64_t i, auto x) { replace(i, x[i]); }, read(array));
    else
      for_each_index({1000}, launch{.threads = 1}, [&](std::int64_t i, double& x) { replace(i, x); }, update(array));
    EXPECT_EQ(seen, 3000);
    EXPECT_EQ(sum(array, stream), 0);
    EXPECT_EQ(sum(*other, stream), 0);
    array.fill(1);
    other->fill(1);
    EXPECT_EQ(contents_of(frame), std::vector<double>(1000, 3));
  }
}

TEST_P(HoldTest, TakesNoLockId) {
  MemArray<double, 1> array({8});
  place(array);
  {
    WriteLease<double, 1> const lease(array, {.stream = stream});
    EXPECT_NE(message_of<LockError>([&] {
                static_cast<void>(hold(stream, update(array, lease.lock_id())));
              }).find("hold takes no lock id"),
              std::string::npos);
    EXPECT_THROW(static_cast<void>(hold(stream, read(array, lease.lock_id()))), LockError);
    for_each_index({8}, stream, [](std::int64_t, double& x) { x = 1; }, update(array, lease.lock_id()));
  }
  array.enter(5);
  EXPECT_THROW(static_cast<void>(hold(stream, update(array, 5))), LockError);
  array.exit();
  EXPECT_EQ(sum(array, stream), 8);
}

TEST_P(HoldTest, ViewsAreHeldWithTheirMemory) {
  MemArray<double, 1> array({12});
  MemArray<double, 1> other({6});
  place(array);
  place(other);
  {
    WriteLease<double, 1> lease(array, {.stream = stream});
    auto held = hold(stream, update<double, 1>(BufferView(lease).slice(0, {.step = 2})), write(other));
    lease.close();
    for (int step = 0; step < 3; ++step)
      held.for_each_index({6}, [](std::int64_t i, double& own, auto others) {
        own += static_cast<double>(i);
        others[i] = own;
      });
    EXPECT_THROW(held.for_each_index({12}, [](std::int64_t, double&, auto) { FAIL(); }), ValueError);
  }
  auto const found = fetched(other);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(found[i], 3 * static_cast<double>(i));
}

TEST_P(HoldTest, UpdateGivesAnIndexerIfTheKernelWantsOne) {
  MemArray<double, 1> array({6});
  count_up(array);
  place(array);
  WriteLease<double, 1> lease(array);
  ConstBufferView const view(lease);
  lease.close();
  auto const before = contents_of(view);
  for_each_index(
      {6}, stream, [](std::int64_t i, ArrayIndexer<double, 1> own) { own[i] = 2 * own[i] + own.size(); },
      update(array));
  EXPECT_EQ(contents_of(view), before);
  auto const after = fetched(array);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(after[i], 2.0 * static_cast<double>(i) + 6);
}

TEST_P(HoldTest, RefusedLaunchesLoseNoResults) {
  MemArray<double, 1> array({8});
  place(array);
  auto const view = array.view();
  {
    auto held = hold(stream, update(array));
    EXPECT_THROW(held.for_each_index({9}, [](std::int64_t, double& own) { own = 5; }), ValueError);
    held.for_each_index({8}, [](std::int64_t, double& own) { own = 7; });
    EXPECT_THROW(
        static_cast<void>(held.transform_reduce({-1}, 0.0, plus{}, [](std::int64_t, double& own) { return own; })),
        ValueError);
    auto const far = std::int64_t{1} << 33;
    EXPECT_THROW(held.for_each_index(range(far, far + 1), [](std::int32_t, double&) {}), std::exception);
  }
  EXPECT_EQ(fetched(array), std::vector<double>(8, 7.0));
}

TEST_P(HoldTest, ValueOfAReductionIsLeftInAnotherArray) {
  MemArray<double, 1> array({100});
  MemArray<double, 1> sum({1});
  MemArray<double, 1> two({2});
  count_up(array);
  for (auto* each : {&array, &sum, &two}) place(*each);
  auto const element = [](std::int64_t, double const& own) { return own; };
  {
    auto held = hold(stream, update(array));
    held.transform_reduce_into(sum, {100}, 1, plus{}, element);
    EXPECT_THROW(held.transform_reduce_into(two, {100}, 0, plus{}, element), ValueError);
    EXPECT_THROW(held.transform_reduce_into(array, {100}, 0, plus{}, element), LockError);
    EXPECT_THROW(held.transform_reduce_into(sum, {101}, 0, plus{}, element), ValueError);
  }
  double const whole = fetched(sum)[0];
  EXPECT_EQ(whole,
            transform_reduce({100}, stream, 1.0, plus{}, [](std::int64_t i, auto x) { return x[i]; }, read(array)));
  if (devices) place(sum);
  {
    auto held = hold(stream, read(array));
    held.transform_reduce_into(sum, range(90, 100), 0, plus{}, [](std::int64_t i, auto x) { return x[i]; });
  }
  double const part = fetched(sum)[0];
  EXPECT_LT(part, whole);
  EXPECT_GT(part, 0);
  if (!devices) return;
  {
    auto held = hold(stream, read(array));
    sum.move_memory(kDLCPU, 0, 0);
    place(sum);
    std::int64_t const before = copies();
    EXPECT_THROW(held.transform_reduce_into(sum, {-1}, 0, plus{}, [](std::int64_t i, auto x) { return x[i]; }),
                 ValueError);
    sum.move_memory(kDLCPU, 0, 0);
    EXPECT_EQ(copies(), before) << "a refused launch leaves both sides valid";
    place(sum);
  }
  MemArray<double, 1> elsewhere({1});
  auto held = hold(stream, read(array));
  EXPECT_THROW(held.transform_reduce_into(elsewhere, {100}, 0, plus{}, [](std::int64_t i, auto x) { return x[i]; }),
               Error);
}

TEST_F(SharedMemoryTest, LaunchesAndLeasesExcludeEachOtherAcrossMappings) {
  SharedArray b = attach();
  StreamHandle const stream = default_stream();
  auto const never = [](std::int64_t&, auto const&) { FAIL(); };
  {
    auto held = hold(stream, update(a));
    EXPECT_THROW(static_cast<void>(ReadLease<std::int64_t, 2>(b)), LockError);
    EXPECT_THROW(for_each_index(b, stream, never), LockError);
    EXPECT_THROW(static_cast<void>(sum(b, stream)), LockError);
  }
  {
    auto held = hold(stream, read(a));
    EXPECT_THROW(static_cast<void>(WriteLease<std::int64_t, 2>(b)), LockError);
    EXPECT_THROW(for_each_index(b, stream, never), LockError);
    EXPECT_EQ(sum(b, stream), 0);
  }
  {
    ReadLease<std::int64_t, 2> const lease(b);
    EXPECT_THROW(for_each_index(a, stream, never), LockError);
    EXPECT_EQ(dot(a, b, stream), 0);
  }
  {
    WriteLease<std::int64_t, 2> const lease(b);
    EXPECT_THROW(for_each_index(a, stream, never), LockError);
    EXPECT_THROW(static_cast<void>(max(a, stream)), LockError);
  }
  for_each_index(b, stream, [](std::int64_t& element, auto const&) { element = 2; });
  EXPECT_EQ(sum(a, stream), 24);
}

}  // namespace
}  // namespace memarray::test
