// Threads that share arrays and streams of two devices. Every granted update must be present at the end, and no thread
// may see half of one.

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "array_test.hpp"

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

struct Shared {
  MemArray<std::int64_t, 1> array{{length}};
  std::atomic<std::int64_t> added{0};
};

struct World {
  explicit World(testing::SimulatedDevices& sim) : devices(sim) {
    for (int i = 0; i < 4; ++i) streams.push_back(create_stream_handle(get_primary_context(i / 2)));
  }
  testing::SimulatedDevices& devices;
  std::vector<StreamHandle> streams;  // two of each device
  std::array<Shared, 3> shared;
  std::atomic<std::int64_t> granted{0};
  std::atomic<std::int64_t> refused{0};
};

using DeviceThreadsTest = test::DeviceArrayTest;

class Worker {
 public:
  Worker(World& world, unsigned seed) : _world(world), _random(seed) {}

  void run() {
    for (int step = 0; step < steps; ++step) {
      try {
        act();
        ++_world.granted;
      } catch (LockError const&) {
        ++_world.refused;
      } catch (ValueError const& error) {
        // The array moved to a device other than the stream's.
        EXPECT_NE(std::string(error.what()).find(": name a stream of that device"), std::string::npos) << error.what();
        ++_world.refused;
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
  void add(Shared& shared, StreamHandle const& stream, std::int64_t lock_id) {
    ++shared.added;
    try {
      for_each_index(shared.array, stream, [](std::int64_t& element, auto const&) { ++element; }, lock_id);
    } catch (...) {
      --shared.added;
      throw;
    }
  }

  static void expect_whole(std::int64_t const* elements, std::int64_t limit) {
    for (std::int64_t i = 1; i < length; ++i) ASSERT_EQ(elements[i], elements[0]) << "torn at " << i;
    ASSERT_LE(elements[0], limit);
  }

  void act() {
    Shared& shared = _world.shared[static_cast<std::size_t>(any(3))];
    MemArray<std::int64_t, 1>& a = shared.array;
    switch (any(7)) {
      case 0: return add(shared, any(3) == 0 ? default_stream() : _world.streams[static_cast<std::size_t>(any(4))], -1);
      case 1: {
        LeaseOptions const asked = options();
        WriteLease<std::int64_t, 1> const lease(a, asked);
        for (int i = any(3); i >= 0; --i)
          add(shared, asked.device->is_cpu() ? default_stream() : stream_on(asked.device->id), lease.lock_id());
        std::int64_t const now = a({0}, lease.lock_id());
        EXPECT_EQ(a({length - 1}, lease.lock_id()), now);
        EXPECT_LE(now, shared.added);
        return;
      }
      case 2: {
        LeaseOptions asked = options();
        asked.device = Device{};
        asked.stream = {};
        ReadLease<std::int64_t, 1> const lease(a, asked);
        return expect_whole(lease.ptr(), shared.added);
      }
      case 3: {
        Device const where = device();
        return a.move_memory(where.type, 0, where.id, -1, any(2) == 0);
      }
      case 4: {
        MemArray<std::int64_t, 1> copy = a;
        copy.move_memory(kDLCPU, 0, 0);
        return expect_whole(copy.ptr(), shared.added);
      }
      case 5: {
        WriteLease<std::int64_t, 1> lease(a, options());
        _kept.push_back(a.get_dlpack_tensor(true, lease.lock_id()));
        lease.close();
        if (_kept.size() > 3) _kept.erase(_kept.begin());
        return;
      }
      default: {
        _world.devices.delay(std::chrono::microseconds(any(3) * 50));
        ReadLease<std::int64_t, 1> const lease(a, options());
        return;
      }
    }
  }

  World& _world;
  std::mt19937 _random;
  std::vector<DLPackTensor> _kept;
};

TEST_F(DeviceThreadsTest, UpdatesFromEightThreadsOnFourStreamsAreNotLost) {
  World world(sim);
  {
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
      running.emplace_back([&world, i] { Worker(world, ::testing::UnitTest::GetInstance()->random_seed() + i).run(); });
    for (std::thread& thread : running) thread.join();
  }
  for (Shared& shared : world.shared) {
    shared.array.move_memory(kDLCPU, 0, 0);
    for (std::int64_t i = 0; i < length; ++i) ASSERT_EQ(shared.array({i}), shared.added);
  }
  EXPECT_GT(world.granted, threads * steps / 4);
  EXPECT_GT(world.refused, 0);
}

}  // namespace
}  // namespace memarray
