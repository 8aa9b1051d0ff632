#include "memory/last_use.hpp"

#include <memarray/base/reports.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/stream_order.hpp>

#include <stdexcept>
#include <thread>

#include "base/thread_number.hpp"
#include "device_test.hpp"

namespace memarray::test {
namespace {

using detail::BoundStream;
using detail::can_free_in;
using detail::DeviceMemory;
using detail::end_of;
using detail::is_over;
using detail::order_free;
using detail::StreamDependencies;
using detail::Use;

class LastUseTest : public DeviceTest {
 protected:
  void use(BoundStream const& bound_stream, Use how) { uses.submitted(end_of(bound_stream, uses.memory()), how); }

  StreamDependencies uses{DeviceMemory::of(0)};
};

TEST_F(LastUseTest, MemoryIsFreedInTheStreamOfItsLastUse) {
  EXPECT_EQ(order_free(uses, first.stream), first.stream);
  use(first, Use::write);
  use(second, Use::read);
  EXPECT_EQ(order_free(uses, nullptr), second.stream);
}

TEST_F(LastUseTest, MemoryIsNotFreedInAnUnownedOrForeignStream) {
  BoundStream borrowed = second;
  borrowed.lasting = false;
  use(borrowed, Use::write);
  EXPECT_NE(order_free(uses, nullptr), second.stream);
  BoundStream elsewhere = second;
  elsewhere.thread = detail::this_thread_number();
  EXPECT_FALSE(can_free_in(elsewhere, uses.memory()));
  EXPECT_FALSE(can_free_in(make_bound_stream(1), uses.memory()));
}

TEST_F(LastUseTest, HostSynchronizesWithAllUsesIfAStreamWaitFails) {
  BoundStream const there = make_bound_stream(1);
  Gate gate(*sim.table(), *there.stream);
  use(first, Use::write);
  use(there, Use::read);
  EXPECT_FALSE(is_over(uses));
  std::int64_t const waits = counters().waits;
  sim.fail("cuStreamWaitEvent", 1, 999, 1);
  std::thread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    gate.open();
  });
  EXPECT_NE(order_free(uses, nullptr), nullptr);
  opens.join();
  EXPECT_TRUE(is_over(uses)) << "that on the other device, too";
  EXPECT_EQ(counters().waits, waits + 1);
}

TEST_F(LastUseTest, MemoryIsNotFreedIfNoWaitSucceeds) {
  use(first, Use::write);
  use(make_bound_stream(1), Use::read);
  for (char const* const function : {"cuStreamWaitEvent", "cuEventSynchronize", "cuEventQuery", "cuCtxSynchronize"})
    sim.fail(function, 1, 719);
  EXPECT_EQ(order_free(uses, nullptr), nullptr);
  EXPECT_FALSE(is_over(uses));
  sim.clear();
  EXPECT_NE(order_free(uses, nullptr), nullptr);
}

TEST_F(LastUseTest, LostContextHasNoPendingWork) {
  EXPECT_FALSE(is_lost(first.context));
  ASSERT_EQ(
      sim.table()->launch_simulated(*first.stream, [](void*) { throw std::runtime_error("of mine"); }, nullptr), 0);
  use(first, Use::write);
  EXPECT_TRUE(is_lost(first.context));
  EXPECT_FALSE(is_lost(make_bound_stream(1).context));
  EXPECT_TRUE(is_over(uses));
  EXPECT_NE(order_free(uses, nullptr), nullptr);
  clear_last_error();
  expect_violation("of mine");
}

}  // namespace
}  // namespace memarray::test
