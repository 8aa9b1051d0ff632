// sanitizer: tsan
// expect: data race
#include <memarray/driver/simulated_devices.hpp>

// Two streams write one block of device memory without ordering, although one ends long before the other begins.
extern "C" __attribute__((visibility("default"))) void fault() {
  memarray::testing::SimulatedDevices sim;
  memarray::DriverTable const& cuda = *sim.table();
  memarray::cu::Context context = nullptr;
  memarray::cu::Stream first = nullptr;
  memarray::cu::Stream second = nullptr;
  memarray::cu::DevicePtr memory = 0;
  cuda.cuCtxCreate(&context, 0, 0);
  cuda.cuStreamCreateWithPriority(&first, 1, 0);
  cuda.cuStreamCreateWithPriority(&second, 1, 0);
  cuda.cuMemAlloc(&memory, 4);
  cuda.cuMemsetD8Async(memory, 1, 4, first);
  cuda.cuMemsetD8Async(memory, 2, 4, second);
  cuda.cuMemFree(memory);
  cuda.cuStreamDestroy(first);
  cuda.cuStreamDestroy(second);
  cuda.cuCtxDestroy(context);
}
