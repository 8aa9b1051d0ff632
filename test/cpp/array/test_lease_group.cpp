#include <memarray/array/lease_group.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "array_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;

class LeasesTest : public ArrayTest {
 protected:
  bool all_free() {
    return a.state().lock().word().load() == detail::LockWord::free &&
           b.state().lock().word().load() == detail::LockWord::free &&
           c.state().lock().word().load() == detail::LockWord::free;
  }
  MemArray<float, 1> a{{8}};
  MemArray<double, 2> b{{2, 2}};
  MemArray<int, 3> c{{1, 2, 3}};
};

TEST_F(LeasesTest, AcquiresReadWriteAndOverwriteTogether) {
  {
    auto const [x, y, z] = leases(read(a), write(b), overwrite(c));
    static_assert(std::is_same_v<decltype(x), ReadLease<float, 1> const>);
    static_assert(std::is_same_v<decltype(y), WriteLease<double, 2> const>);
    EXPECT_EQ(detail::LockWord::readers(a.state().lock().word().load()), 1);
    EXPECT_EQ(b.get_lock_id(), y.lock_id());
    EXPECT_EQ(c.get_lock_id(), z.lock_id());
  }
  EXPECT_TRUE(all_free());
}

TEST_F(LeasesTest, AcquiresAllOrNone) {
  {
    ReadLease const reader(b);
    EXPECT_THROW(static_cast<void>(leases(read(a), write(b), write(c))), LockError);
    EXPECT_THROW(static_cast<void>(leases(write(c), write(b), write(a))), LockError);
    EXPECT_EQ(a.state().lock().word().load(), detail::LockWord::free);
    EXPECT_EQ(c.state().lock().word().load(), detail::LockWord::free);
    EXPECT_EQ(detail::LockWord::readers(b.state().lock().word().load()), 1);
  }
  EXPECT_TRUE(all_free());
}

TEST_F(LeasesTest, LockIdsAreRefused) {
  {
    WriteLease const writer(a);
    EXPECT_THROW(static_cast<void>(leases(read(a, writer.lock_id()), read(b))), ValueError);
    EXPECT_THROW(static_cast<void>(leases(write(b), write(a, writer.lock_id()))), ValueError);
  }
  EXPECT_TRUE(all_free());
}

// Otherwise the first lease would have discarded the contents before the second is refused.
TEST_F(LeasesTest, RefusedOverwriteKeepsContents) {
  MemArray<double, 1> first({16});
  MemArray<double, 1> second({16});
  count_up(first);
  count_up(second);
  auto const before = contents(first);
  View<double> const kept_first = escaped_read_only(first);
  View<double> const kept_second = escaped_read_only(second);
  for (MemArray<double, 1>* const held : {&first, &second}) {
    MemArray<double, 1>& other = held == &first ? second : first;
    ReadLease const reader(*held);
    EXPECT_THROW(static_cast<void>(leases(overwrite(first), overwrite(second))), LockError);
    EXPECT_EQ(contents(other), before);
    EXPECT_EQ(other({5}), 5);
  }
  EXPECT_EQ(contents(first), before);
  EXPECT_EQ(contents(second), before);
  EXPECT_EQ(versions(), 0);
  EXPECT_EQ(copies(), 0);
  auto const [x, y] = leases(overwrite(first), overwrite(second));
  EXPECT_EQ(kept_first.copy(), before);
  EXPECT_EQ(versions(), 2);
}

TEST_F(LeasesTest, ArrayMayBeListedTwiceOnlyForReading) {
  {
    auto const [x, y, z] = leases(read(a), read(b), read(a));
    EXPECT_EQ(x.ptr(), z.ptr());
  }
  EXPECT_TRUE(all_free());
  EXPECT_NE(message_of<LockError>([&] { static_cast<void>(leases(read(a), write(a))); }).find("twice"),
            std::string::npos);
  EXPECT_THROW(static_cast<void>(leases(write(a), read(b), write(a))), LockError);
  EXPECT_TRUE(all_free());
}

// Without special handling, the second read would wait for the writer, which waits for the first read.
TEST_F(LeasesTest, RepeatedReadDoesNotWaitForWaitingWriter) {
  auto reader = std::make_unique<ReadLease<float, 1>>(a);
  std::thread writer([&] { WriteLease<float, 1> const lease(a, {.timeout = std::nullopt}); });
  while (!a.state().lock().word().writer_waits()) std::this_thread::yield();
  std::atomic<bool> done{false};
  std::thread both([&] {
    auto const got = leases(Timeout(20s), read(a), read(a));
    done = true;
  });
  std::this_thread::sleep_for(20ms);
  reader.reset();
  both.join();
  writer.join();
  EXPECT_TRUE(done);
}

TEST_F(LeasesTest, TimeoutAppliesToAllLeasesTogether) {
  WriteLease const first(a);
  WriteLease const second(b);
  auto const start = std::chrono::steady_clock::now();
  EXPECT_THROW(static_cast<void>(leases(Timeout(80ms), write(a), write(b), write(c))), LockError);
  auto const waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, 80ms);
  EXPECT_LT(waited, 10s);
}

TEST_F(LeasesTest, OppositeOrdersDoNotDeadlock) {
  std::atomic<int> granted{0};
  auto const take = [&](bool forward) {
    for (int i = 0; i < 500; ++i) {
      if (forward)
        static_cast<void>(leases(Timeout(), write(a), read(b), write(c)));
      else
        static_cast<void>(leases(Timeout(), write(c), write(b), read(a)));
      ++granted;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(take, t % 2 == 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(granted, 2000);
  EXPECT_TRUE(all_free());
}

TEST_F(LeasesTest, OutOfMemoryForOneArrayReleasesAll) {
  FailingResource::Control memory;
  MemArray<double, 1> tight({8}, 0, {.resource = FailingResource(memory)});
  View<double> const view = escaped_read_only(tight);
  memory.until_failure = 0;
  EXPECT_THROW(static_cast<void>(leases(write(a), overwrite(tight), write(b))), OutOfMemoryError);
  EXPECT_TRUE(all_free());
  EXPECT_EQ(tight.state().lock().word().load(), detail::LockWord::free);
}

}  // namespace
}  // namespace memarray::test
