// Escaped views: what the consumer and the array's later readers and writers see, under each policy.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array_test.hpp"

namespace memarray::test {
namespace {

using Array = MemArray<double, 1>;

struct Use {
  char const* name;
  std::function<void(Array&)> run;
};

/// Writes that may be partial. The array needs its old contents, so a view costs one copy.
std::vector<Use> partial_writes() {
  return {
      {"write", [](Array& a) { a.write({1}, -1.0); }},
      {"ptr", [](Array& a) { a.ptr()[1] = -1; }},
      {"get_indexer", [](Array& a) { a.get_indexer()[{1}] = -1; }},
      {"host_view", [](Array& a) { a.host_view()(1) = -1; }},
      {"a write lease", [](Array& a) { WriteLease(a).ptr()[1] = -1; }},
      {"leases", [](Array& a) { std::get<0>(leases(write(a))).ptr()[1] = -1; }},
      {"enter",
       [](Array& a) {
         a.enter(1);
         a.ptr(1)[1] = -1;
         a.exit();
       }},
      {"a kernel that writes",
       [](Array& a) {
         for_each_index({2}, default_stream(), [](auto const& i, auto x) { x[i] = i[0] == 1 ? -1 : x[i]; }, write(a));
       }},
  };
}

/// Full writes, which need no copy.
std::vector<Use> whole_writes() {
  return {
      {"fill", [](Array& a) { a.fill(-1); }},
      {"a discarding lease",
       [](Array& a) {
         WriteLease const lease(a, {.discard = true});
         for (std::int64_t i = 0; i < a.get_size(); ++i) lease.ptr()[i] = -1;
       }},
      {"leases",
       [](Array& a) {
         auto const [lease] = leases(overwrite(a));
         for (std::int64_t i = 0; i < a.get_size(); ++i) lease.ptr()[i] = -1;
       }},
      {"a kernel", [](Array& a) { for_each_index(a, default_stream(), [](double& e, auto const&) { e = -1; }); }},
      {"a kernel that overwrites",
       [](Array& a) {
         for_each_index(a.get_shape(), default_stream(), [](auto const& i, auto x) { x[i] = -1; }, overwrite(a));
       }},
      {"a kernel that updates",
       [](Array& a) {
         for_each_index(a.get_shape(), default_stream(), [](auto const&, double& x) { x -= x + 1; }, update(a));
       }},
      {"exclusive_scan into it",
       [](Array& a) {
         Array const zeros(a.get_shape());
         static_cast<void>(exclusive_scan(zeros, a, default_stream()));
         for_each_index(a, default_stream(), [](double& e, auto const&) { e = -1; });
       }},
  };
}

std::vector<Use> reads() {
  return {
      {"an element", [](Array& a) { static_cast<void>(a({1})); }},
      {"ptr", [](Array& a) { static_cast<void>(std::as_const(a).ptr()); }},
      {"copy", [](Array& a) { Array const copy(a); }},
      {"a read lease", [](Array& a) { ReadLease const lease(a); }},
      {"leases", [](Array& a) { static_cast<void>(leases(read(a))); }},
      {"sum", [](Array& a) { static_cast<void>(sum(a, default_stream())); }},
      {"a kernel",
       [](Array& a) {
         for_each_index({2}, default_stream(), [](auto const& i, auto x) { static_cast<void>(x[i]); }, read(a));
       }},
      {"a tensor", [](Array& a) { static_cast<void>(a.get_dlpack_tensor(true)); }},
  };
}

class EscapedViewsTest : public ArrayTest {
 protected:
  EscapedViewsTest() { fresh(); }
  /// Replaces the array with one that has no views.
  void fresh(EscapedViews policy = EscapedViews::snapshot) {
    array = Array({64}, 0, {.escaped_views = policy});
    count_up(array);
    before = contents(array);
  }
  static std::vector<double> with(std::vector<double> values, std::size_t at, double value) {
    values[at] = value;
    return values;
  }

  Array array{{64}};
  std::vector<double> before;
};

TEST_F(EscapedViewsTest, PartialWritesUnderEscapedViewCopyAndReportOnce) {
  for (Use const& use : partial_writes()) {
    fresh();
    View<double> const view = escaped_read_only(array);
    auto const copies_before = copies();
    auto const bytes_before = copied_bytes();
    static_cast<void>(take_reports());
    use.run(array);
    use.run(array);
    EXPECT_EQ(copies() - copies_before, 1) << use.name;
    EXPECT_EQ(copied_bytes() - bytes_before, 64 * 8) << use.name;
    auto const reports = take_reports();
    ASSERT_EQ(reports.size(), 1U) << use.name;
    EXPECT_EQ(reports[0].bytes, 512);
    EXPECT_NE(reports[0].message.find("512 bytes"), std::string::npos) << reports[0].message;
    EXPECT_EQ(view.copy(), before) << use.name;
    EXPECT_EQ(contents(array), with(before, 1, -1)) << use.name;
  }
}

TEST_F(EscapedViewsTest, FullWritesUnderEscapedViewDoNotCopy) {
  for (Use const& use : whole_writes()) {
    fresh();
    View<double> const view = escaped_read_only(array);
    auto const versions_before = versions();
    use.run(array);
    EXPECT_EQ(copies(), 0) << use.name;
    EXPECT_GE(versions() - versions_before, 1) << use.name;
    EXPECT_EQ(view.copy(), before) << use.name;
    EXPECT_EQ(contents(array), std::vector<double>(64, -1)) << use.name;
    // The view now refers to old memory, so the next write is in place.
    std::byte const* const memory = memory_of(array);
    array.fill(3);
    EXPECT_EQ(memory_of(array), memory) << use.name;
  }
}

TEST_F(EscapedViewsTest, ReadsUnderEscapedReadOnlyViewChangeNothing) {
  for (Use const& use : reads()) {
    fresh();
    View<double> const view = escaped_read_only(array);
    std::byte const* const memory = memory_of(array);
    use.run(array);
    EXPECT_EQ(memory_of(array), memory) << use.name;
    EXPECT_EQ(reinterpret_cast<std::byte const*>(view.data()), memory);
  }
  EXPECT_EQ(copies(), 0);
}

TEST_F(EscapedViewsTest, AllAccessIsInPlaceWithoutEscapedViews) {
  for (auto const& uses : {partial_writes(), whole_writes(), reads()})
    for (Use const& use : uses) {
      fresh();
      {
        View<double> const dropped = escaped_writable(array);
        View<double> const too = escaped_read_only(array);
      }
      std::byte const* const memory = memory_of(array);
      auto const copies_before = copies();
      auto const versions_before = versions();
      use.run(array);
      EXPECT_EQ(memory_of(array), memory) << use.name;
      EXPECT_EQ(copies(), copies_before) << use.name;
      EXPECT_EQ(versions(), versions_before) << use.name;
    }
}

// The consumer's writes before the next use belong to the array. Later writes do not, for any kind of use.
TEST_F(EscapedViewsTest, WritableViewIsDetachedByNextAccess) {
  for (Use const& use : reads()) {
    fresh();
    View<double> const view = escaped_writable(array);
    view.data()[5] = 77;
    use.run(array);
    view.data()[6] = 88;
    EXPECT_EQ(contents(array), with(before, 5, 77)) << use.name;
    EXPECT_EQ(view.data()[6], 88);
  }
  EXPECT_EQ(copies(), static_cast<std::int64_t>(reads().size()));
  for (Use const& use : partial_writes()) {
    fresh();
    View<double> const view = escaped_writable(array);
    view.data()[5] = 77;
    use.run(array);
    view.data()[6] = 88;
    EXPECT_EQ(contents(array), with(with(before, 5, 77), 1, -1)) << use.name;
  }
  auto const copies_before = copies();
  for (Use const& use : whole_writes()) {
    fresh();
    View<double> const view = escaped_writable(array);
    use.run(array);
    view.data()[6] = 88;
    EXPECT_EQ(contents(array), std::vector<double>(64, -1)) << use.name;
  }
  EXPECT_EQ(copies(), copies_before) << "a full write copies no old contents";
}

TEST_F(EscapedViewsTest, MoveResizeAndExchangeDetachWritableViews) {
  View<double> const moved = escaped_writable(array);
  array.move_memory(kDLCPU, 0, 0);
  moved.data()[0] = 55;
  EXPECT_EQ(contents(array), before);
  View<double> const resized = escaped_writable(array);
  resized.data()[0] = 11;
  array.resize({32});
  resized.data()[1] = 55;
  EXPECT_EQ(array({0}), 11);
  EXPECT_EQ(array({1}), 1);
  Array other({32});
  View<double> const mine = escaped_writable(array);
  View<double> const theirs = escaped_writable(other);
  array.exchange(other);
  mine.data()[2] = 55;
  theirs.data()[2] = 55;
  EXPECT_EQ(array({2}), 0);
  EXPECT_EQ(other({2}), 2);
  EXPECT_EQ(other({0}), 11);
}

TEST_F(EscapedViewsTest, SnapshotsSurviveResizingExchangingMovingAndDestruction) {
  View<double> const view = escaped_read_only(array);
  array.resize({8});
  array.fill(-1);
  EXPECT_EQ(view.copy(), before);
  fresh();
  View<double> const second = escaped_read_only(array);
  Array other({3});
  array.exchange(other);
  EXPECT_EQ(contents(other), before);
  other.write({0}, -1.0);
  array.fill(-2);
  EXPECT_EQ(second.copy(), before);
  View<double> const third = escaped_read_only(other);
  other = Array({1});
  array = std::move(other);
  EXPECT_EQ(third.copy(), with(before, 0, -1));
}

TEST_F(EscapedViewsTest, ManySnapshotsCoexist) {
  std::vector<View<double>> frames;
  for (int step = 0; step < 50; ++step) {
    for_each_index(array, default_stream(), [](double& e, auto const&) { e += 1; });
    frames.push_back(escaped_read_only(array));
  }
  for (int step = 0; step < 50; ++step) EXPECT_EQ(frames[static_cast<std::size_t>(step)].data()[3], 3 + step + 1);
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(versions(), 49);
}

// A view of an open lease is not an escaped view: the lease's holder sees its writes.
TEST_F(EscapedViewsTest, ExportOfOpenLeaseSeesWritesInPlace) {
  WriteLease<double, 1> lease(array);
  View<double> const view(array.get_dlpack_tensor(true, lease.lock_id()));
  std::byte const* const memory = memory_of(array);
  array.write({0}, -1.0, lease.lock_id());
  array.fill(-2, lease.lock_id());
  for_each_index(array, default_stream(), [](double& e, auto const&) { e -= 1; }, lease.lock_id());
  for_each_index({64}, default_stream(), [](auto const& i, auto x) { x[i] -= 1; }, overwrite(array, lease.lock_id()));
  EXPECT_EQ(memory_of(array), memory);
  EXPECT_EQ(view.data()[9], -4);
  lease.close();
  EXPECT_EQ(memory_of(array), memory) << "closing decides nothing either";
  array.fill(0);
  EXPECT_EQ(view.data()[9], -4);
  EXPECT_EQ(copies(), 0);
}

TEST_F(EscapedViewsTest, PolicyErrorRefusesWritesUntilTheLastViewIsGone) {
  for (auto const& uses : {partial_writes(), whole_writes()})
    for (Use const& use : uses) {
      fresh(EscapedViews::error);
      std::byte const* const memory = memory_of(array);
      View<double> first = escaped_read_only(array);
      View<double> second = escaped_read_only(array);
      auto const words = message_of<LockError>([&] { use.run(array); });
      EXPECT_NE(words.find("2 exported view"), std::string::npos) << use.name << words;
      EXPECT_NE(words.find("'error'"), std::string::npos) << use.name;
      EXPECT_EQ(contents(array), before) << use.name;
      EXPECT_EQ(memory_of(array), memory) << use.name;
      EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free) << use.name;
      first.drop();
      EXPECT_THROW(use.run(array), LockError) << use.name;
      second.drop();
      EXPECT_NO_THROW(use.run(array)) << use.name;
    }
  EXPECT_EQ(copies(), 0);
}

TEST_F(EscapedViewsTest, PolicyErrorRefusesMovingResizingAndExchanging) {
  fresh(EscapedViews::error);
  View<double> const view = escaped_read_only(array);
  EXPECT_THROW(array.resize({64}), LockError);
  EXPECT_THROW(array.move_memory(kDLCPU, 0, 0), LockError);
  Array other({64});
  other.fill(9);
  EXPECT_THROW(array.exchange(other), LockError);
  EXPECT_THROW(other.exchange(array), LockError);
  EXPECT_EQ(contents(array), before);
  EXPECT_EQ(other({0}), 9);
  EXPECT_NO_THROW(other.fill(8)) << "the other stayed held";
}

TEST_F(EscapedViewsTest, PolicyErrorRefusesReadingOnlyUnderWritableViews) {
  for (Use const& use : reads()) {
    fresh(EscapedViews::error);
    View<double> view = escaped_read_only(array);
    EXPECT_NO_THROW(use.run(array)) << use.name;
    view = escaped_writable(array = Array({64}, 0, {.escaped_views = EscapedViews::error}));
    auto const words = message_of<LockError>([&] { use.run(array); });
    EXPECT_NE(words.find("1 writable"), std::string::npos) << use.name << words;
    view.drop();
    EXPECT_NO_THROW(use.run(array)) << use.name;
  }
}

TEST_F(EscapedViewsTest, PolicyAliasKeepsSharingArrayMemory) {
  for (auto const& uses : {partial_writes(), whole_writes(), reads()})
    for (Use const& use : uses) {
      fresh(EscapedViews::alias);
      View<double> const view = escaped_writable(array);
      View<double> const reader = escaped_read_only(array);
      std::byte const* const memory = memory_of(array);
      use.run(array);
      EXPECT_EQ(memory_of(array), memory) << use.name;
      EXPECT_EQ(view.copy(), contents(array)) << use.name;
      view.data()[7] = 99;
      EXPECT_EQ(array({7}), 99) << use.name;
      EXPECT_EQ(reader.data()[7], 99);
    }
  EXPECT_EQ(copies(), 0);
}

TEST_F(EscapedViewsTest, PolicyIsPerArrayAndDefaultsToOptions) {
  EXPECT_EQ(array.escaped_views(), EscapedViews::snapshot);
  options().escaped_views = EscapedViews::alias;
  Array const aliasing({1});
  options().escaped_views = EscapedViews::snapshot;
  EXPECT_EQ(aliasing.escaped_views(), EscapedViews::alias);
  EXPECT_EQ(Array(aliasing).escaped_views(), EscapedViews::alias);
  Array const given({1}, 0, {.escaped_views = EscapedViews::error});
  EXPECT_EQ(given.escaped_views(), EscapedViews::error);
}

TEST_F(EscapedViewsTest, ChangedPolicyAppliesAtNextAccess) {
  fresh(EscapedViews::error);
  View<double> const view = escaped_read_only(array);
  EXPECT_THROW(array.fill(0), LockError);
  array.escaped_views(EscapedViews::snapshot);
  array.fill(0);
  EXPECT_EQ(view.copy(), before);
  View<double> const second = escaped_writable(array);
  array.escaped_views(EscapedViews::alias);
  array.fill(5);
  EXPECT_EQ(second.data()[0], 5);
  array.escaped_views(EscapedViews::snapshot);
  array.fill(6);
  EXPECT_EQ(second.data()[0], 5);
}

// A write that fails while views exist changes nothing, even if the functor wrote many elements.
TEST_F(EscapedViewsTest, ThrowingKernelLeavesArraysWithEscapedViewsUnchanged) {
  Array other({64});
  count_up(other);
  View<double> const first = escaped_read_only(array);
  View<double> const second = escaped_writable(other);
  auto const fails = [](auto const& i, auto&& x, auto&& y) {
    if constexpr (std::is_lvalue_reference_v<decltype(y)> && std::is_same_v<std::remove_cvref_t<decltype(y)>, double>)
      y = -1;
    else
      y[i] = -1;
    x[i] = -1;
    if (i[0] == 40) throw std::runtime_error("in the middle");
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_THROW(for_each_index({64}, default_stream(), fails, write(array), write(other)), std::runtime_error);
    EXPECT_THROW(for_each_index({64}, default_stream(), fails, overwrite(array), update(other)), std::runtime_error);
    EXPECT_EQ(contents(array), before);
    EXPECT_EQ(contents(other), before);
    EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
    EXPECT_EQ(other.state().lock().word().load(), detail::LockWord::free);
  }
  EXPECT_EQ(first.copy(), before);
}

}  // namespace
}  // namespace memarray::test
