#include <cstdint>
#include <string>
#include <vector>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedStreams : public SimulatedDriver {
 protected:
  // Logs that the work at this place has run.
  static void append(void* log_and_letter) {
    auto& [log, letter] = *static_cast<std::pair<std::string*, char>*>(log_and_letter);
    *log += letter;
  }
};

cu::Stream default_stream(std::uintptr_t number) { return reinterpret_cast<cu::Stream>(number); }

TEST_F(SimulatedStreams, KeepTheOrderOfTheirWork) {
  auto const stream = make_stream();
  std::string log;
  std::vector<std::pair<std::string*, char>> letters;
  for (char letter = 'a'; letter <= 'z'; ++letter) letters.emplace_back(&log, letter);
  for (auto& letter : letters) EXPECT_OK(cuda.cuLaunchHostFunc(stream, append, &letter));
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(log, "abcdefghijklmnopqrstuvwxyz");
}

// Without a wait the work really overlaps: the copy reads the value from before the late write.
TEST_F(SimulatedStreams, RunConcurrentlyWithoutAWait) {
  auto const writer = make_stream();
  auto const reader = make_stream();
  auto const memory = allocate(64);
  auto const seen = pin(64);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 64, writer));
  EXPECT_OK(cuda.cuStreamSynchronize(writer));
  {
    Gate const late(cuda, writer);
    EXPECT_OK(cuda.cuMemcpyDtoHAsync(seen, memory, 64, reader));
    EXPECT_OK(cuda.cuStreamSynchronize(reader));
    EXPECT_OK(cuda.cuMemsetD8Async(memory, 2, 64, writer));
  }
  EXPECT_EQ(seen[0], 1);
  EXPECT_OK(cuda.cuStreamSynchronize(writer));
}

TEST_F(SimulatedStreams, EventOrdersTwoStreams) {
  auto const writer = make_stream();
  auto const reader = make_stream();
  auto const memory = allocate(64);
  auto const written = make_event();
  auto const seen = pin(64);
  seen[0] = 0;
  Gate late(cuda, writer);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 2, 64, writer));
  EXPECT_OK(cuda.cuEventRecord(written, writer));
  EXPECT_OK(cuda.cuStreamWaitEvent(reader, written, 0));
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(seen, memory, 64, reader));
  EXPECT_EQ(cuda.cuStreamQuery(reader), 600);
  late.open();
  EXPECT_OK(cuda.cuStreamSynchronize(reader));
  EXPECT_EQ(seen[0], 2);
}

TEST_F(SimulatedStreams, LegacyStreamAndBlockingStreamsWaitForEachOther) {
  auto const blocking = make_stream(0);
  auto const other = make_stream(0);
  std::string log;
  std::pair<std::string*, char> in_legacy(&log, 'l');
  std::pair<std::string*, char> after(&log, 'a');
  Gate early(cuda, blocking);
  EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, append, &in_legacy));
  EXPECT_OK(cuda.cuLaunchHostFunc(other, append, &after));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cuda.cuStreamQuery(default_stream(1)), 600);
  EXPECT_EQ(cuda.cuStreamQuery(other), 600);
  early.open();
  EXPECT_OK(cuda.cuStreamSynchronize(other));
  EXPECT_EQ(log, "la");
}

TEST_F(SimulatedStreams, TheLegacyStreamWaitsForADestroyedStreamsWork) {
  cu::Stream const blocking = make_stream(0).release();
  Gate early(cuda, blocking);
  EXPECT_OK(cuda.cuStreamDestroy(blocking));
  std::string log;
  std::pair<std::string*, char> in_legacy(&log, 'l');
  EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, append, &in_legacy));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 600);
  early.open();
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_EQ(log, "l");
}

TEST_F(SimulatedStreams, NonblockingStreamsIgnoreTheLegacyStream) {
  auto const stream = make_stream(1);
  Gate legacy(cuda, nullptr);
  std::string log;
  std::pair<std::string*, char> letter(&log, 'n');
  EXPECT_OK(cuda.cuLaunchHostFunc(stream, append, &letter));
  EXPECT_OK(cuda.cuStreamSynchronize(stream));
  EXPECT_EQ(log, "n");
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 600);
  legacy.open();
  EXPECT_OK(cuda.cuCtxSynchronize());
  {
    Gate const here(cuda, stream);
    EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, append, &letter));
    EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  }
  EXPECT_EQ(log, "nn");
}

TEST_F(SimulatedStreams, LegacyStreamWaitsForPerThreadDefaultStreams) {
  Gate here(cuda, default_stream(2));
  std::thread([&] {
    auto const current = push(context);
    EXPECT_OK(cuda.cuStreamQuery(default_stream(2)));
  }).join();
  EXPECT_EQ(cuda.cuStreamQuery(default_stream(2)), 600);
  std::string log;
  std::pair<std::string*, char> letter(&log, 'l');
  EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, append, &letter));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cuda.cuStreamQuery(nullptr), 600);
  here.open();
  EXPECT_OK(cuda.cuCtxSynchronize());
  EXPECT_EQ(log, "l");
}

TEST_F(SimulatedStreams, DestroyedStreamCompletesItsPendingWork) {
  cu::Stream const stream = make_stream().release();
  std::string log;
  std::pair<std::string*, char> letter(&log, 'd');
  Gate gate(cuda, stream);
  EXPECT_OK(cuda.cuLaunchHostFunc(stream, append, &letter));
  EXPECT_OK(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(sim.live().streams, 0);
  gate.open();
  EXPECT_OK(cuda.cuCtxSynchronize());
  EXPECT_EQ(log, "d");
}

TEST_F(SimulatedStreams, ACallOnADestroyedOrUnknownStreamIsAViolation) {
  cu::Stream const stream = make_stream().release();
  EXPECT_OK(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(cuda.cuStreamSynchronize(stream), 400);
  expect_violation("cuStreamSynchronize: stream");
  EXPECT_EQ(cuda.cuStreamDestroy(stream), 400);
  expect_violation("which was destroyed");
  EXPECT_EQ(cuda.cuStreamQuery(reinterpret_cast<cu::Stream>(0x1234560)), 400);
  expect_violation("which is not known");
  EXPECT_EQ(cuda.cuStreamDestroy(nullptr), 400);
  expect_violation("default stream");
  // A later stream never reuses the handle.
  for (int i = 0; i < 100; ++i) {
    auto const later = make_stream();
    EXPECT_NE(later, stream);
  }
}

TEST_F(SimulatedStreams, QueriesReturnPriorityFlagsAndContext) {
  cu::Stream refused = nullptr;
  EXPECT_EQ(cuda.cuStreamCreateWithPriority(&refused, 2, 0), 1);
  int least = -1;
  int greatest = 1;
  EXPECT_OK(cuda.cuCtxGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_LT(greatest, 0);
  auto const stream = make_stream(1, greatest - 100);
  int priority = 0;
  unsigned flags = 0;
  cu::Context of = nullptr;
  EXPECT_OK(cuda.cuStreamGetPriority(stream, &priority));
  EXPECT_OK(cuda.cuStreamGetFlags(stream, &flags));
  EXPECT_OK(cuda.cuStreamGetCtx(stream, &of));
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(flags, 1U);
  EXPECT_EQ(of, context);
  EXPECT_OK(cuda.cuStreamGetCtx(nullptr, &of));
  EXPECT_EQ(of, context);
}

TEST_F(SimulatedStreams, HostFunctionsAndKernelsMayNotCallTheDriver) {
  struct Call {
    DriverTable const& cuda;
    cu::Result result;
  } call{cuda, 0};
  auto const run = [](void* data) {
    auto& [table, result] = *static_cast<Call*>(data);
    result = table.cuCtxSynchronize();
    char const* name = nullptr;
    EXPECT_OK(table.cuGetErrorName(2, &name));
  };
  EXPECT_OK(cuda.cuLaunchHostFunc(nullptr, run, &call));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_EQ(call.result, 800);
  expect_violation("cuCtxSynchronize called by a host function or kernel");
  call.result = 0;
  EXPECT_OK(cuda.launch_simulated(nullptr, run, &call));
  EXPECT_OK(cuda.cuStreamSynchronize(nullptr));
  EXPECT_EQ(call.result, 800);
  expect_violation("cuCtxSynchronize called by");
}

TEST_F(SimulatedStreams, StreamCallsWithoutACurrentContextFail) {
  cu::Context popped = nullptr;
  EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
  cu::Stream stream = nullptr;
  EXPECT_EQ(cuda.cuStreamCreateWithPriority(&stream, 0, 0), 201);
  EXPECT_EQ(cuda.cuStreamSynchronize(nullptr), 201);
  EXPECT_OK(cuda.cuCtxPushCurrent(context));
}

}  // namespace
}  // namespace memarray
