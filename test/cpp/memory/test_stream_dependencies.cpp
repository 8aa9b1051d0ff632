#include "memory/last_use.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/driver/stream_order.hpp>

#include "device_test.hpp"

namespace memarray::test {
namespace {

using detail::BoundStream;
using detail::DeviceMemory;
using detail::end_of;
using detail::is_over;
using detail::StreamDependencies;
using detail::Use;

class StreamDependenciesTest : public DeviceTest {
 protected:
  ~StreamDependenciesTest() override { third = {}; }

  /// Orders and counts work in `bound_stream`.
  void use(BoundStream const& bound_stream, Use how) {
    uses.order(bound_stream, how, "a test");
    uses.submitted(end_of(bound_stream, uses.memory()), how);
  }
  /// Returns the number of events that such a use in `bound_stream` waits for.
  std::size_t waits_before(BoundStream const& bound_stream, Use how) {
    static_cast<void>(new_waits());
    uses.order(bound_stream, how, "a test");
    return new_waits().size();
  }

  BoundStream third = make_bound_stream();
  StreamDependencies uses{DeviceMemory::of(0)};
};

TEST_F(StreamDependenciesTest, FirstUseWaitsForNothing) {
  EXPECT_EQ(waits_before(first, Use::write), 0u);
  EXPECT_TRUE(is_over(uses));
  uses.synchronize(Use::write, "a test");
  EXPECT_TRUE(new_waits().empty());
}

TEST_F(StreamDependenciesTest, ReadersWaitForTheWriteOnce) {
  use(first, Use::write);
  EXPECT_EQ(waits_before(first, Use::read), 0u);
  EXPECT_EQ(waits_before(second, Use::read), 1u);
  EXPECT_EQ(waits_before(second, Use::read), 0u);
  EXPECT_EQ(waits_before(third, Use::read), 1u);
}

TEST_F(StreamDependenciesTest, WriterWaitsForAllEarlierUses) {
  use(first, Use::write);
  use(second, Use::read);
  use(third, Use::read);
  EXPECT_EQ(waits_before(first, Use::write), 2u);
  use(second, Use::write);
  // The last write already follows all earlier work, so one wait is enough.
  EXPECT_EQ(waits_before(third, Use::read), 1u);
}

TEST_F(StreamDependenciesTest, TwoReadsInOneStreamAreOneEvent) {
  use(first, Use::read);
  use(first, Use::read);
  EXPECT_EQ(waits_before(second, Use::write), 1u);
}

TEST_F(StreamDependenciesTest, BorrowedStreamIsAlwaysWaitedFor) {
  StreamHandle const borrowed = create_stream_handle_ref(*first.stream, first.context);
  BoundStream const bound_stream = detail::bind_stream(borrowed, first.context);
  use(bound_stream, Use::write);
  EXPECT_EQ(waits_before(bound_stream, Use::read), 1u);
  EXPECT_EQ(waits_before(first, Use::read), 1u);
}

TEST_F(StreamDependenciesTest, HostSynchronizesAndReportsTheWait) {
  use(first, Use::write);
  Gate gate(*sim.table(), *first.stream);
  use(first, Use::write);
  EXPECT_FALSE(is_over(uses));
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
  });
  std::int64_t const waits = counters().waits;
  uses.synchronize(Use::read, "the host looks");
  opener.join();
  EXPECT_EQ(counters().waits, waits + 1);
  EXPECT_EQ(new_waits().back(), "cuEventSynchronize: the host looks");
  EXPECT_TRUE(is_over(uses));
  // The completed work is no longer tracked.
  std::uint64_t const calls = sim.calls();
  uses.synchronize(Use::write, "the host looks");
  EXPECT_EQ(waits_before(second, Use::write), 0u);
  EXPECT_EQ(sim.calls(), calls);
}

TEST_F(StreamDependenciesTest, CompletedWorkIsNotReportedAsAWait) {
  use(first, Use::write);
  ASSERT_TRUE(synchronize(first));
  std::int64_t const waits = counters().waits;
  uses.synchronize(Use::read, "the host looks");
  EXPECT_EQ(counters().waits, waits);
}

TEST_F(StreamDependenciesTest, FailedEventRecordSynchronizesTheContext) {
  sim.fail("cuEventRecord", 1, 999, 1);
  std::int64_t const waits = counters().waits;
  use(first, Use::write);
  EXPECT_EQ(counters().waits, waits + 1);
  EXPECT_EQ(sim.calls("cuCtxSynchronize"), 1u);
  EXPECT_EQ(waits_before(second, Use::read), 0u);
}

TEST_F(StreamDependenciesTest, CompletedReadsAreNoLongerTracked) {
  StreamHandle const borrowed = create_stream_handle_ref(*first.stream, first.context);
  BoundStream const bound_stream = detail::bind_stream(borrowed, first.context);
  for (int read = 0; read < 200; ++read) {
    use(bound_stream, Use::read);
    ASSERT_TRUE(synchronize(bound_stream));
  }
  EXPECT_LT(waits_before(second, Use::write), 40u);
}

TEST_F(StreamDependenciesTest, AnUnusedLeaseRecordsNothing) {
  use(first, Use::write);
  std::uint64_t const calls = sim.calls();
  StreamDependencies::Lease const lease = uses.open_lease(second, Use::write);
  uses.close_lease(lease, false);
  EXPECT_EQ(sim.calls(), calls);
  EXPECT_FALSE(uses.export_to(lease, nullptr, true));
}

TEST_F(StreamDependenciesTest, ExportsUnderOneLeaseWaitForEachOther) {
  StreamDependencies::Lease const lease = uses.open_lease(first, Use::write);
  EXPECT_TRUE(uses.export_to(lease, nullptr, true));  // to its own stream
  static_cast<void>(new_waits());
  EXPECT_TRUE(uses.export_to(lease, &second, true));
  EXPECT_EQ(new_waits().size(), 1u);
  EXPECT_TRUE(uses.export_to(lease, &third, true));
  EXPECT_EQ(new_waits().size(), 2u);
  EXPECT_TRUE(uses.export_to(lease, &second, true));  // again, after the work that `third` may submit
  EXPECT_EQ(new_waits().size(), 2u);
  std::uint64_t const records = sim.calls("cuEventRecord");
  uses.close_lease(lease, false);
  EXPECT_EQ(sim.calls("cuEventRecord"), records + 3);
  BoundStream const fourth = make_bound_stream();
  EXPECT_EQ(waits_before(fourth, Use::read), 3u);
}

TEST_F(StreamDependenciesTest, WorkUnderAWriteLeaseIsOrderedWithItsOtherStreams) {
  StreamDependencies::Lease const lease = uses.open_lease(first, Use::write);
  ASSERT_TRUE(uses.export_to(lease, &second, true));
  static_cast<void>(new_waits());
  use(third, Use::write);
  EXPECT_EQ(new_waits(), (std::vector<std::string>{
                             "cuStreamWaitEvent: a lease's next work, after its other streams",
                             "cuStreamWaitEvent: a lease's streams, after its kernel",
                         }));
  uses.close_lease(lease, false);
}

TEST_F(StreamDependenciesTest, ViewsThatOutliveTheirLeaseAreFenced) {
  StreamDependencies::Lease const lease = uses.open_lease(first, Use::read);
  ASSERT_TRUE(uses.export_to(lease, &second, true));
  uses.close_lease(lease, true);
  uses.order(third, Use::write, "a test");
  static_cast<void>(new_waits());
  std::uint64_t const records = sim.calls("cuEventRecord");
  EXPECT_TRUE(uses.fence_escaped(Use::read, false));  // read-only views change nothing for readers
  EXPECT_EQ(sim.calls("cuEventRecord"), records);
  EXPECT_TRUE(uses.fence_escaped(Use::write, true));  // still alive: fenced now, and again later
  EXPECT_TRUE(uses.fence_escaped(Use::write, false));
  EXPECT_EQ(sim.calls("cuEventRecord"), records + 2);
  EXPECT_TRUE(uses.fence_escaped(Use::write, false));
  EXPECT_EQ(sim.calls("cuEventRecord"), records + 2);
  EXPECT_GE(waits_before(third, Use::write), 1u);
  EXPECT_EQ(sim.calls("cuCtxSynchronize"), 0u);
}

TEST_F(StreamDependenciesTest, ViewsInUnknownStreamsSynchronizeTheContext) {
  for (bool const known : {false, true}) {
    BoundStream bound_stream = second;
    bound_stream.lasting = false;
    StreamDependencies::Lease const lease = uses.open_lease(first, Use::write);
    ASSERT_TRUE(uses.export_to(lease, known ? &bound_stream : nullptr, known));
    uses.close_lease(lease, true);
    std::int64_t const waits = counters().waits;
    EXPECT_TRUE(uses.fence_escaped(Use::read, false));
    EXPECT_EQ(counters().waits, waits + 1);
  }
  EXPECT_EQ(sim.calls("cuCtxSynchronize"), 2u);
}

}  // namespace
}  // namespace memarray::test
