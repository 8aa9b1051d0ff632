// sanitizer: tsan
// expect: data race
#include <memarray/driver/simulated_devices.hpp>

#include <atomic>
#include <thread>

// Two threads that share only a stream are not ordered: the stream runs the work of both, and neither waits for it. The
// second thread even submits before and after, which must not hide the race.
extern "C" __attribute__((visibility("default"))) void fault() {
  memarray::testing::SimulatedDevices sim;
  memarray::DriverTable const& cuda = *sim.table();
  memarray::cu::Context context = nullptr;
  memarray::cu::Stream stream = nullptr;
  memarray::cu::DevicePtr memory = 0;
  cuda.cuCtxCreate(&context, 0, 0);
  cuda.cuStreamCreateWithPriority(&stream, 1, 0);
  cuda.cuMemAlloc(&memory, 4);
  int unguarded = 0;
  std::atomic<bool> has_written{false};
  std::thread first([&] {
    unguarded = 1;
    cuda.cuMemsetD8Async(memory, 1, 4, stream);
    cuda.cuStreamQuery(stream);
    has_written.store(true, std::memory_order_relaxed);
  });
  std::thread second([&] {
    cuda.cuMemsetD8Async(memory, 2, 4, stream);
    while (!has_written.load(std::memory_order_relaxed)) std::this_thread::yield();
    cuda.cuMemsetD8Async(memory, 3, 4, stream);
    unguarded = 2;
  });
  first.join();
  second.join();
  cuda.cuMemFree(memory);
  cuda.cuStreamDestroy(stream);
  cuda.cuCtxDestroy(context);
}
