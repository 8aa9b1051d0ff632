#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedEvents : public SimulatedDriver {};

TEST_F(SimulatedEvents, UnrecordedEventIsCompleteAndIsNotWaitedFor) {
  auto const event = make_event();
  EXPECT_OK(cuda.cuEventQuery(event));
  EXPECT_OK(cuda.cuEventSynchronize(event));
  EXPECT_OK(cuda.cuStreamWaitEvent(nullptr, event, 0));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
}

TEST_F(SimulatedEvents, CompleteWhenTheStreamReachesThem) {
  auto const stream = make_stream();
  auto const event = make_event();
  Gate before(cuda, stream);
  EXPECT_OK(cuda.cuEventRecord(event, stream));
  Gate after(cuda, stream);
  EXPECT_EQ(cuda.cuEventQuery(event), 600);
  before.open();
  EXPECT_OK(cuda.cuEventSynchronize(event));
  EXPECT_OK(cuda.cuEventQuery(event));
  EXPECT_EQ(cuda.cuStreamQuery(stream), 600);
  after.open();
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
}

// A wait refers to the record that was the latest when the wait was submitted.
TEST_F(SimulatedEvents, SecondRecordDoesNotDelayEarlierWaits) {
  auto const first = make_stream();
  auto const second = make_stream();
  auto const waiter = make_stream();
  auto const event = make_event();
  Gate early(cuda, first);
  EXPECT_OK(cuda.cuEventRecord(event, first));
  EXPECT_OK(cuda.cuStreamWaitEvent(waiter, event, 0));
  Gate late(cuda, second);
  EXPECT_OK(cuda.cuEventRecord(event, second));
  early.open();
  EXPECT_OK(cuda.cuStreamSynchronize(waiter));
  EXPECT_EQ(cuda.cuEventQuery(event), 600);
  EXPECT_OK(cuda.cuStreamWaitEvent(waiter, event, 0));
  EXPECT_EQ(cuda.cuStreamQuery(waiter), 600);
  late.open();
  EXPECT_OK(cuda.cuStreamSynchronize(waiter));
}

// A second record does not replace an earlier, unfinished record for streams that already wait.
TEST_F(SimulatedEvents, SecondRecordDoesNotCompleteEarlierWaits) {
  auto const slow = make_stream();
  auto const quick = make_stream();
  auto const waiter = make_stream();
  auto const event = make_event();
  Gate gate(cuda, slow);
  EXPECT_OK(cuda.cuEventRecord(event, slow));
  EXPECT_OK(cuda.cuStreamWaitEvent(waiter, event, 0));
  EXPECT_OK(cuda.cuEventRecord(event, quick));
  EXPECT_OK(cuda.cuEventSynchronize(event));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cuda.cuStreamQuery(waiter), 600);
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(waiter));
}

TEST_F(SimulatedEvents, MayBeDestroyedWhileAStreamWaits) {
  auto const stream = make_stream();
  auto const waiter = make_stream();
  cu::Event const event = make_event().release();
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuEventRecord(event, stream));
  EXPECT_OK(cuda.cuStreamWaitEvent(waiter, event, 0));
  EXPECT_OK(cuda.cuEventDestroy(event));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cuda.cuStreamQuery(waiter), 600);
  gate.open();
  EXPECT_OK(cuda.cuStreamSynchronize(waiter));
}

TEST_F(SimulatedEvents, MeasureTheTimeOfExecution) {
  auto const stream = make_stream();
  auto const start = make_event();
  auto const end = make_event();
  float milliseconds = -1;
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, end), 400);
  EXPECT_OK(cuda.cuEventRecord(start, stream));
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuEventRecord(end, stream));
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, end), 600);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.open();
  EXPECT_OK(cuda.cuEventSynchronize(end));
  EXPECT_OK(cuda.cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GE(milliseconds, 15);
  EXPECT_OK(cuda.cuEventElapsedTime(&milliseconds, end, start));
  EXPECT_LE(milliseconds, -15);
  auto const untimed = make_event(2);
  EXPECT_OK(cuda.cuEventRecord(untimed, stream));
  EXPECT_OK(cuda.cuEventSynchronize(untimed));
  EXPECT_EQ(cuda.cuEventElapsedTime(&milliseconds, start, untimed), 400);
}

TEST_F(SimulatedEvents, AreRefusedOnceDestroyedAndInOtherContexts) {
  cu::Event const event = make_event().release();
  {
    auto const other = make_context(1);
    auto const there = make_stream();
    EXPECT_EQ(cuda.cuEventRecord(event, there), 400);
    expect_violation("different contexts");
    // Waiting across contexts is allowed.
    EXPECT_OK(cuda.cuStreamWaitEvent(there, event, 0));
  }
  EXPECT_OK(cuda.cuEventDestroy(event));
  EXPECT_EQ(cuda.cuEventDestroy(event), 400);
  expect_violation("cuEventDestroy: event");
  EXPECT_EQ(cuda.cuEventRecord(event, nullptr), 400);
  expect_violation("destroyed");
  cu::Event unmade = nullptr;
  EXPECT_EQ(cuda.cuEventCreate(&unmade, 64), 1);
}

}  // namespace
}  // namespace memarray
