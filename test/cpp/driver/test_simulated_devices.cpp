#include <memarray/base/errors.hpp>
#include <memarray/driver/context_handle.hpp>

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "simulated_driver.hpp"

namespace memarray {
namespace {

using testing::LiveResources;
using testing::SimulatedDevices;

int count_threads() {
  DIR* const tasks = opendir("/proc/self/task");
  int count = -2;  // . and ..
  while (readdir(tasks)) ++count;
  closedir(tasks);
  return count;
}

// A sanitizer starts a thread of its own with the first one, and a real driver with its first context. The
// kernel lists a thread for a while after join() has returned, so the end of this one is awaited.
int const threads_at_start = [] {
  std::string task;
  std::thread([&task] { task = "/proc/self/task/" + std::to_string(gettid()); }).join();
  while (access(task.c_str(), F_OK) == 0) std::this_thread::yield();
  if (access("/dev/nvidiactl", F_OK) == 0) static_cast<void>(get_primary_context(0));
  return count_threads();
}();

int count_mappings() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  int count = 0;
  char line[1024];
  while (std::fgets(line, sizeof line, maps))
    if (std::string_view(line).find("memarray-simulated-device") != std::string_view::npos) ++count;
  std::fclose(maps);
  return count;
}

bool comes_true(std::function<bool()> const& condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Threads end asynchronously.
bool has_released_all() {
  return comes_true([] { return count_threads() <= threads_at_start && count_mappings() == 0; });
}

TEST(SimulatedDevices, ReplaceTheDriverForTheirLifetime) {
  DriverTable const* const before = driver();
  {
    SimulatedDevices const sim({.count = 3});
    EXPECT_EQ(driver(), sim.table());
    EXPECT_TRUE(driver()->is_simulated());
    EXPECT_EQ(device_count(), 3);
  }
  EXPECT_EQ(driver(), before);
}

TEST(SimulatedDevices, InvalidDeviceCountOrMemorySizeIsRefused) {
  DriverTable const* const before = driver();
  EXPECT_THROW(SimulatedDevices({.count = 0}), ValueError);
  EXPECT_THROW(SimulatedDevices({.count = -1}), ValueError);
  EXPECT_THROW(SimulatedDevices({.memory = 0}), ValueError);
  EXPECT_THROW(SimulatedDevices({.count = 1, .memory = std::size_t{1} << 60}), std::system_error);
  EXPECT_EQ(driver(), before);
}

TEST(SimulatedDevices, NestedDevicesReceiveTheirOwnCalls) {
  SimulatedDevices outer({.count = 1});
  DriverTable const& cuda = *outer.table();
  cu::Context context = nullptr;
  int count = 0;
  {
    SimulatedDevices const inner({.count = 5});
    EXPECT_EQ(driver(), inner.table());
    EXPECT_OK(cuda.cuDeviceGetCount(&count));
    EXPECT_EQ(count, 5);
    EXPECT_EQ(inner.calls("cuDeviceGetCount"), 1U);
    EXPECT_EQ(outer.calls("cuDeviceGetCount"), 0U);
    EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&context, 4));
    EXPECT_EQ(inner.live().contexts, 1);
    EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(4));
  }
  EXPECT_EQ(driver(), outer.table());
  EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&context, 0));
  EXPECT_OK(cuda.cuCtxPushCurrent(context));
  {
    // The call goes to the session of the current context, not to the innermost session.
    SimulatedDevices const inner({.count = 5});
    EXPECT_OK(inner.table()->cuDeviceGetCount(&count));
    EXPECT_EQ(count, 1);
    cu::DevicePtr memory = 0;
    EXPECT_OK(cuda.cuMemAlloc(&memory, 100));
    EXPECT_EQ(outer.live().device_memory, 1);
    EXPECT_EQ(inner.live(), LiveResources{});
    EXPECT_OK(cuda.cuCtxPopCurrent(&context));
    // A call that names a resource goes to the resource's session.
    EXPECT_OK(cuda.cuMemFree(memory));
    EXPECT_EQ(outer.live().device_memory, 0);
  }
  EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(0));
}

TEST(SimulatedDevices, MayEndInAnyOrder) {
  DriverTable const* const before = driver();
  auto outer = std::make_unique<SimulatedDevices>();
  auto inner = std::make_unique<SimulatedDevices>();
  outer.reset();
  EXPECT_EQ(driver(), inner->table());
  inner.reset();
  EXPECT_EQ(driver(), before);
}

TEST(SimulatedDevices, HandlesWorkAfterEndAndTheLastReleaseFreesAll) {
  ASSERT_TRUE(has_released_all());
  SimulatedDevices sim;
  DriverTable const& cuda = *sim.table();
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  cu::DevicePtr memory = 0;
  EXPECT_OK(cuda.cuCtxCreate(&context, 0, 1));
  EXPECT_OK(cuda.cuStreamCreateWithPriority(&stream, 1, 0));
  EXPECT_OK(cuda.cuMemAlloc(&memory, 100));
  bool has_run = false;
  sim.delay(std::chrono::milliseconds(20));
  EXPECT_OK(cuda.cuLaunchHostFunc(stream, [](void* flag) { *static_cast<bool*>(flag) = true; }, &has_run));
  sim.end();
  EXPECT_TRUE(has_run);
  EXPECT_NE(driver(), sim.table());
  EXPECT_EQ(sim.live().total(), 3);
  EXPECT_OK(cuda.cuMemsetD8Async(memory, 1, 100, stream));
  unsigned char seen = 0;
  EXPECT_OK(cuda.cuMemcpyDtoHAsync(&seen, memory, 1, stream));
  EXPECT_EQ(seen, 1);
  EXPECT_GT(count_threads(), threads_at_start);
  EXPECT_OK(cuda.cuMemFree(memory));
  EXPECT_OK(cuda.cuStreamDestroy(stream));
  EXPECT_EQ(sim.live().total(), 1);
  EXPECT_GT(count_mappings(), 0);
  EXPECT_OK(cuda.cuCtxDestroy(context));
  EXPECT_EQ(sim.live(), LiveResources{});
  EXPECT_TRUE(has_released_all()) << count_threads() << " threads, " << count_mappings() << " mappings";
  // The counters remain, and calls on destroyed resources still return errors.
  EXPECT_EQ(sim.calls("cuMemAlloc"), 1U);
  EXPECT_EQ(cuda.cuStreamDestroy(stream), 400);
  EXPECT_EQ(sim.violations().size(), 1U);
  EXPECT_EQ(cuda.cuMemFree(memory), 3);
  sim.end();
}

TEST(SimulatedDevices, HandlesOutliveTheObject) {
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  DriverTable const* cuda = nullptr;
  {
    SimulatedDevices const sim;
    cuda = sim.table();
    EXPECT_OK(cuda->cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_OK(cuda->cuCtxPushCurrent(context));
    EXPECT_OK(cuda->cuStreamCreateWithPriority(&stream, 0, 0));
  }
  EXPECT_OK(cuda->cuStreamSynchronize(stream));
  EXPECT_OK(cuda->cuStreamDestroy(stream));
  EXPECT_OK(cuda->cuDevicePrimaryCtxRelease(0));
  EXPECT_TRUE(has_released_all());
  EXPECT_EQ(cuda->cuStreamDestroy(stream), 400);
  // A context that was left current does not affect the next session.
  SimulatedDevices const next;
  EXPECT_OK(cuda->cuCtxGetCurrent(&context));
  EXPECT_EQ(context, nullptr);
  EXPECT_TRUE(next.violations().empty());
}

TEST(SimulatedDevices, CallsAfterTheEndFailAsNotInitialized) {
  DriverTable const* cuda = nullptr;
  {
    SimulatedDevices const sim;
    cuda = sim.table();
  }
  int count = 0;
  EXPECT_EQ(cuda->cuInit(0), 3);
  EXPECT_EQ(cuda->cuDeviceGetCount(&count), 3);
  char const* name = nullptr;
  EXPECT_OK(cuda->cuGetErrorName(3, &name));
  EXPECT_EQ(std::string_view(name), "CUDA_ERROR_NOT_INITIALIZED");
}

TEST(SimulatedDevices, DescribeThemselves) {
  SimulatedDevices const sim({.count = 2});
  DriverTable const& cuda = *sim.table();
  int value = -1;
  EXPECT_OK(cuda.cuInit(0));
  EXPECT_EQ(cuda.cuInit(1), 1);
  EXPECT_OK(cuda.cuDriverGetVersion(&value));
  EXPECT_GE(value, 12000);
  cu::Device device = -1;
  EXPECT_OK(cuda.cuDeviceGet(&device, 1));
  EXPECT_EQ(device, 1);
  EXPECT_EQ(cuda.cuDeviceGet(&device, 2), 101);
  char name[64] = {};
  EXPECT_OK(cuda.cuDeviceGetName(name, sizeof name, 1));
  EXPECT_EQ(std::string_view(name), "simulated device 1");
  EXPECT_OK(cuda.cuDeviceGetName(name, 4, 1));
  EXPECT_EQ(std::string_view(name), "sim");
  for (auto const& [attribute, expected] :
       {std::pair(75, 9), std::pair(76, 0), std::pair(16, 16), std::pair(41, 1), std::pair(89, 1), std::pair(115, 1)}) {
    EXPECT_OK(cuda.cuDeviceGetAttribute(&value, attribute, 0));
    EXPECT_EQ(value, expected) << attribute;
  }
  EXPECT_EQ(cuda.cuDeviceGetAttribute(&value, 9999, 0), 1);
  EXPECT_EQ(cuda.cuDeviceGetAttribute(&value, 16, 5), 101);
}

TEST(SimulatedDevices, NameErrors) {
  SimulatedDevices const sim;
  DriverTable const& cuda = *sim.table();
  for (int const error : {0, 1, 2, 3, 100, 101, 201, 217, 400, 600, 704, 709, 800, 801, 999}) {
    char const* words = nullptr;
    EXPECT_OK(cuda.cuGetErrorName(error, &words));
    EXPECT_EQ(std::string_view(words).substr(0, 5), "CUDA_");
    EXPECT_OK(cuda.cuGetErrorString(error, &words));
    EXPECT_FALSE(std::string_view(words).empty());
  }
  char const* words = "";
  EXPECT_EQ(cuda.cuGetErrorName(12345, &words), 1);
  EXPECT_EQ(words, nullptr);
}

// Runs in a forked child, for any state of the parent.
TEST(SimulatedDevices, EveryCallInAForkedChildIsRefused) {
  auto sim = std::make_unique<SimulatedDevices>();
  DriverTable const& cuda = *sim->table();
  cu::Context context = nullptr;
  cu::Stream stream = nullptr;
  cu::DevicePtr memory = 0;
  EXPECT_OK(cuda.cuCtxCreate(&context, 0, 0));
  EXPECT_OK(cuda.cuStreamCreateWithPriority(&stream, 1, 0));
  EXPECT_OK(cuda.cuMemAlloc(&memory, 100));
  std::atomic<bool> has_allocated{false};
  std::jthread busy([&](std::stop_token const& stop) {
    EXPECT_OK(cuda.cuCtxPushCurrent(context));
    while (!stop.stop_requested()) {
      cu::DevicePtr pointer = 0;
      EXPECT_OK(cuda.cuMemAlloc(&pointer, 512));
      EXPECT_OK(cuda.cuMemFree(pointer));
      has_allocated = true;
    }
  });
  // A child may stop in ThreadSanitizer's allocator if another thread was taking its first blocks there.
  while (!has_allocated) std::this_thread::yield();
  for (int round = 0; round < 20; ++round) {
    pid_t const child = fork();
    if (child == 0) {
      alarm(20);
      char const* name = nullptr;
      bool all = cuda.cuStreamSynchronize(stream) == 3 && cuda.cuMemFree(memory) == 3 && cuda.cuCtxSynchronize() == 3 &&
                 cuda.cuGetErrorName(2, &name) == 3 && cuda.cuStreamDestroy(stream) == 3 && cuda.cuInit(0) == 3 &&
                 cuda.launch_simulated(stream, [](void*) {}, nullptr) == 3 && driver() == nullptr;
      all = all && sim->live() == LiveResources{} && sim->violations().empty();
      sim.reset();
      _exit(all ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  busy.request_stop();
  busy.join();
  EXPECT_OK(cuda.cuMemFree(memory));
  EXPECT_OK(cuda.cuStreamDestroy(stream));
  EXPECT_OK(cuda.cuCtxDestroy(context));
  EXPECT_TRUE(sim->violations().empty());
}

TEST(SimulatedDevices, ForkedChildCanCreateItsOwnDevices) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer lets no child start threads";
#endif
  SimulatedDevices outer;
  cu::Context old = nullptr;
  EXPECT_OK(outer.table()->cuCtxCreate(&old, 0, 0));
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    bool all = false;
    {
      SimulatedDevices own;
      DriverTable const& cuda = *own.table();
      cu::Context context = nullptr;
      cu::DevicePtr memory = 0;
      all = driver() == own.table() && cuda.cuCtxDestroy(old) == 3 && cuda.cuCtxCreate(&context, 0, 0) == 0 &&
            cuda.cuMemAlloc(&memory, 100) == 0 && cuda.cuMemsetD8Async(memory, 1, 100, nullptr) == 0 &&
            cuda.cuCtxSynchronize() == 0 && cuda.cuMemFree(memory) == 0 && cuda.cuCtxDestroy(context) == 0 &&
            own.live() == LiveResources{} && own.violations().empty();
    }
    _exit(all ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_OK(outer.table()->cuCtxDestroy(old));
}

}  // namespace
}  // namespace memarray
