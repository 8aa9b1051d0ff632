#include <cstdint>
#include <thread>
#include <vector>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

class SimulatedThreads : public SimulatedDriver {};

constexpr int threads = 8;
constexpr int rounds = 200;

// Has no data race: every access is ordered by a stream, an event or a wait. A report of the thread sanitizer is
// therefore an error in the simulated driver's edges.
TEST_F(SimulatedThreads, ManyThreadsShareAFewStreams) {
  std::vector<Scoped<cu::Stream>> streams;
  for (unsigned i = 0; i < 4; ++i) streams.push_back(make_stream(i % 2));
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) {
    workers.emplace_back([&, number] {
      auto const current = push(context);
      auto const event = make_event(2);
      for (int round = 0; round < rounds; ++round) {
        cu::Stream const stream = streams[static_cast<std::size_t>(number + round) % 4];
        cu::Stream const other = streams[static_cast<std::size_t>(number + round + 1) % 4];
        auto const value = static_cast<unsigned char>(number * 16 + round % 16);
        cu::DevicePtr const memory = allocate(1000, stream).release();
        EXPECT_OK(cuda.cuMemsetD8Async(memory, value, 1000, stream));
        EXPECT_OK(cuda.cuEventRecord(event, stream));
        EXPECT_OK(cuda.cuStreamWaitEvent(other, event, 0));
        unsigned char seen[1000];
        EXPECT_OK(cuda.cuMemcpyDtoHAsync(seen, memory, 1000, other));
        EXPECT_EQ(seen[0], value);
        EXPECT_EQ(seen[999], value);
        EXPECT_OK(cuda.cuMemFreeAsync(memory, other));
        if (round % 16 == 0) {
          EXPECT_OK(cuda.cuStreamSynchronize(stream));
        }
        if (round % 50 == 0) {
          auto const plain = allocate(5000);
          EXPECT_OK(cuda.cuMemsetD8Async(plain, value, 5000, nullptr));
        }
      }
    });
  }
  for (auto& worker : workers) worker.join();
}

TEST_F(SimulatedThreads, CreateAndDestroyResourcesConcurrently) {
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) {
    workers.emplace_back([&] {
      auto const current = push(context);
      for (int round = 0; round < 20; ++round) {
        cu::Stream const stream = make_stream(static_cast<unsigned>(round % 2)).release();
        auto const event = make_event();
        auto const pinned = pin(64);
        cu::DevicePtr const memory = allocate(64, stream).release();
        EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 64, stream));
        EXPECT_OK(cuda.cuMemcpyDtoHAsync(pinned, memory, 64, stream));
        EXPECT_OK(cuda.cuEventRecord(event, stream));
        EXPECT_OK(cuda.cuMemFreeAsync(memory, stream));
        EXPECT_OK(cuda.cuStreamDestroy(stream));
        EXPECT_OK(cuda.cuEventSynchronize(event));
        EXPECT_EQ(pinned[63], 1);
      }
    });
  }
  for (auto& worker : workers) worker.join();
}

TEST(SimulatedSessions, AreOpenedAndEndedConcurrently) {
  std::vector<std::thread> workers;
  for (int number = 0; number < 4; ++number) {
    workers.emplace_back([] {
      for (int round = 0; round < 20; ++round) {
        testing::SimulatedDevices sim({.count = 1, .memory = 1 << 16});
        // A call without a handle goes to the innermost open block, which may be another thread's. Each has one device.
        int count = 0;
        EXPECT_OK(sim.table()->cuDeviceGetCount(&count));
        EXPECT_EQ(count, 1);
      }
    });
  }
  for (auto& worker : workers) worker.join();
}

}  // namespace
}  // namespace memarray
