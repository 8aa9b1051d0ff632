#pragma once

#include <memarray/gtest.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define EXPECT_OK(call) EXPECT_EQ((call), 0)
#define ASSERT_OK(call) ASSERT_EQ((call), 0)

/// Skips tests of mistakes that are data races: the thread sanitizer correctly reports them.
#if defined(__SANITIZE_THREAD__)
#define SKIP_AS_IT_RACES() GTEST_SKIP() << "the thread sanitizer sees the mistake by itself"
#else
#define SKIP_AS_IT_RACES() static_cast<void>(0)
#endif

namespace memarray {

/// Blocks a stream at one point until `open` is called.
class Gate {
 public:
  Gate() = default;
  Gate(DriverTable const& cuda, cu::Stream stream) { put(cuda, stream); }
  ~Gate() { open(); }
  Gate(Gate const&) = delete;
  Gate& operator=(Gate const&) = delete;

  void put(DriverTable const& cuda, cu::Stream stream) {
    EXPECT_OK(cuda.cuLaunchHostFunc(stream, wait, new Flag(_is_open)));
  }
  // Relaxed, so that the sanitizer sees no ordering through a gate.
  void open() { _is_open->store(true, std::memory_order_relaxed); }

 private:
  // Shared, because the stream may read the flag once more after the gate is destroyed.
  using Flag = std::shared_ptr<std::atomic<bool>>;

  static void wait(void* data) {
    std::unique_ptr<Flag> const flag(static_cast<Flag*>(data));
    while (!(*flag)->load(std::memory_order_relaxed)) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

  Flag _is_open = std::make_shared<std::atomic<bool>>(false);
};

/// A driver resource that is released when it goes out of scope. A failed release fails the test.
template <class Handle>
class Scoped {
 public:
  Scoped(Handle handle, std::function<cu::Result(Handle)> release) : _handle(handle), _release(std::move(release)) {}
  ~Scoped() {
    if (_handle != Handle()) {
      EXPECT_OK(_release(_handle)) << "at the end of the resource's scope";
    }
  }
  Scoped(Scoped&& other) noexcept : _handle(other.release()), _release(std::move(other._release)) {}
  Scoped& operator=(Scoped&&) = delete;

  operator Handle() const& { return _handle; }
  operator Handle() && = delete;  // the handle would be released at the end of the expression
  /// Returns the handle without releasing the resource, for tests of the release itself.
  Handle release() { return std::exchange(_handle, Handle()); }

 private:
  Handle _handle;
  std::function<cu::Result(Handle)> _release;
};

/// A fixture for simulated devices, with the primary context of device 0 current. The context outlives the members of
/// derived fixtures.
class SimulatedDriver : public testing::SimulatedDevicesTest {
 protected:
  explicit SimulatedDriver(testing::SimulatedOptions const& options = {}) : SimulatedDevicesTest(options) {
    EXPECT_OK(cuda.cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_OK(cuda.cuCtxPushCurrent(context));
  }
  ~SimulatedDriver() override {
    cu::Context popped = nullptr;
    EXPECT_OK(cuda.cuCtxPopCurrent(&popped));
    EXPECT_EQ(popped, context);
    EXPECT_OK(cuda.cuDevicePrimaryCtxRelease(0));
  }

  /// Creates a context and makes it current.
  Scoped<cu::Context> make_context(cu::Device device) {
    cu::Context created = nullptr;
    EXPECT_OK(cuda.cuCtxCreate(&created, 0, device));
    return {created, cuda.cuCtxDestroy};
  }
  /// Makes a context current for the calling thread, until the result goes out of scope.
  Scoped<cu::Context> push(cu::Context pushed) {
    EXPECT_OK(cuda.cuCtxPushCurrent(pushed));
    return {pushed, [this](cu::Context) { return cuda.cuCtxPopCurrent(nullptr); }};
  }
  Scoped<cu::Stream> make_stream(unsigned flags = 1, int priority = 0) {
    cu::Stream stream = nullptr;
    EXPECT_OK(cuda.cuStreamCreateWithPriority(&stream, flags, priority));
    return {stream, cuda.cuStreamDestroy};
  }
  Scoped<cu::Event> make_event(unsigned flags = 0) {
    cu::Event event = nullptr;
    EXPECT_OK(cuda.cuEventCreate(&event, flags));
    return {event, cuda.cuEventDestroy};
  }
  Scoped<cu::DevicePtr> allocate(std::size_t bytes) {
    cu::DevicePtr pointer = 0;
    EXPECT_OK(cuda.cuMemAlloc(&pointer, bytes));
    return {pointer, cuda.cuMemFree};
  }
  /// Allocates in the order of a stream, in whose order the memory is freed.
  Scoped<cu::DevicePtr> allocate(std::size_t bytes, cu::Stream stream) {
    cu::DevicePtr pointer = 0;
    EXPECT_OK(cuda.cuMemAllocAsync(&pointer, bytes, stream));
    return free_in(stream, pointer);
  }
  Scoped<cu::DevicePtr> allocate_managed(std::size_t bytes) {
    cu::DevicePtr pointer = 0;
    EXPECT_OK(cuda.cuMemAllocManaged(&pointer, bytes, 1));
    return {pointer, cuda.cuMemFree};
  }
  Scoped<unsigned char*> pin(std::size_t bytes) {
    void* pointer = nullptr;
    EXPECT_OK(cuda.cuMemHostAlloc(&pointer, bytes, 0));
    return {static_cast<unsigned char*>(pointer), cuda.cuMemFreeHost};
  }
  /// Returns an owner of memory that frees it in the order of a stream.
  Scoped<cu::DevicePtr> free_in(cu::Stream stream, cu::DevicePtr pointer) {
    return {pointer, [this, stream](cu::DevicePtr freed) { return cuda.cuMemFreeAsync(freed, stream); }};
  }
  /// Copies memory to the host and waits for the stream.
  std::vector<unsigned char> read(cu::DevicePtr pointer, std::size_t bytes, cu::Stream stream) {
    std::vector<unsigned char> values(bytes);
    EXPECT_OK(cuda.cuMemcpyDtoHAsync(values.data(), pointer, bytes, stream));
    return values;
  }

  DriverTable const& cuda = *sim.table();
  cu::Context context = nullptr;
};

inline std::vector<unsigned char> bytes_of(std::size_t count, int value) {
  return std::vector<unsigned char>(count, static_cast<unsigned char>(value));
}

}  // namespace memarray
