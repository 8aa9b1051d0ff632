// Threads that share arrays and streams of two devices. Every granted update must be present at the end, and no thread
// may see half of one.

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device_world.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t length = 1000;
constexpr int threads = 8;
// Sanitizers slow the steps down; fewer steps prove as much.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int steps = 60;
#else
constexpr int steps = 300;
#endif

/// Counts the updates of each array, and the calls.
struct Counts {
  std::array<std::atomic<std::int64_t>, 3> added{};  ///< to each array
  std::atomic<std::int64_t> granted{0};
  std::atomic<std::int64_t> refused{0};
};

using DeviceThreadsTest = test::DeviceArrayTest;

class Worker {
 public:
  Worker(testing::SimulatedDevices& devices, test::DeviceWorld& world, Counts& counts, unsigned seed)
      : _devices(devices), _world(world), _counts(counts), _random(seed) {}

  void run() {
    for (int step = 0; step < steps; ++step) {
      try {
        act();
        ++_counts.granted;
      } catch (LockError const&) {
        ++_counts.refused;
      } catch (ValueError const& error) {
        // The array moved to a device other than the stream's.
        EXPECT_NE(std::string(error.what()).find(": name a stream of that device"), std::string::npos) << error.what();
        ++_counts.refused;
      }
    }
  }

 private:
  int any(int count) { return std::uniform_int_distribution<int>(0, count - 1)(_random); }
  StreamHandle stream_on(int device) { return _world.streams[static_cast<std::size_t>(2 * device + any(2))]; }
  Device device() { return any(3) == 0 ? Device{} : Device{kDLCUDA, any(2)}; }
  LeaseOptions options() {
    Device const where = device();
    return {.timeout = any(2) == 0 ? no_wait : Timeout(20ms),
            .device = where,
            .stream = where.is_cpu() ? StreamChoice() : StreamChoice(stream_on(where.id))};
  }

  // Counted first, so that no thread sees an update that is not counted yet.
  void add_one(std::size_t index, StreamHandle const& stream, std::int64_t lock_id) {
    ++_counts.added[index];
    try {
      test::add(*_world.arrays()[index], stream, 1, lock_id);
    } catch (...) {
      --_counts.added[index];
      throw;
    }
  }

  static void expect_whole(int const* elements, std::int64_t limit) {
    for (std::int64_t i = 1; i < length; ++i) ASSERT_EQ(elements[i], elements[0]) << "torn at " << i;
    ASSERT_LE(elements[0], limit);
  }

  void act() {
    auto const index = static_cast<std::size_t>(any(3));
    MemArray<int, 1>& a = *_world.arrays()[index];
    std::atomic<std::int64_t> const& added = _counts.added[index];
    switch (any(7)) {
      case 0:
        return add_one(index, any(3) == 0 ? default_stream() : _world.streams[static_cast<std::size_t>(any(4))], -1);
      case 1: {
        LeaseOptions const asked = options();
        WriteLease<int, 1> const lease(a, asked);
        for (int i = any(3); i >= 0; --i)
          add_one(index, asked.device->is_cpu() ? default_stream() : stream_on(asked.device->id), lease.lock_id());
        int const now = a({0}, lease.lock_id());
        EXPECT_EQ(a({length - 1}, lease.lock_id()), now);
        EXPECT_LE(now, added);
        return;
      }
      case 2: {
        LeaseOptions asked = options();
        asked.device = Device{};
        asked.stream = {};
        ReadLease<int, 1> const lease(a, asked);
        return expect_whole(lease.ptr(), added);
      }
      case 3: {
        Device const where = device();
        return a.move_memory(where.type, 0, where.id, -1, any(2) == 0);
      }
      case 4: {
        MemArray<int, 1> copy = a;
        copy.move_memory(kDLCPU, 0, 0);
        return expect_whole(copy.ptr(), added);
      }
      case 5: {
        WriteLease<int, 1> lease(a, options());
        _exports.push_back(a.get_dlpack_tensor(true, lease.lock_id()));
        lease.close();
        if (_exports.size() > 3) _exports.erase(_exports.begin());
        return;
      }
      default: {
        _devices.delay(std::chrono::microseconds(any(3) * 50));
        ReadLease<int, 1> const lease(a, options());
        return;
      }
    }
  }

  testing::SimulatedDevices& _devices;
  test::DeviceWorld& _world;
  Counts& _counts;
  std::mt19937 _random;
  std::vector<DLPackTensor> _exports;
};

TEST_F(DeviceThreadsTest, UpdatesFromEightThreadsOnFourStreamsAreNotLost) {
  test::DeviceWorld world(length, 2);
  Counts counts;
  {
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
      running.emplace_back(
          [&, i] { Worker(sim, world, counts, ::testing::UnitTest::GetInstance()->random_seed() + i).run(); });
    for (std::thread& thread : running) thread.join();
  }
  for (std::size_t i = 0; i < counts.added.size(); ++i) {
    MemArray<int, 1>& array = *world.arrays()[i];
    array.move_memory(kDLCPU, 0, 0);
    for (std::int64_t j = 0; j < length; ++j) ASSERT_EQ(array({j}), counts.added[i]);
  }
  EXPECT_GT(counts.granted, threads * steps / 4);
  EXPECT_GT(counts.refused, 0);
}

}  // namespace
}  // namespace memarray
