// Owners are released in every order while work is pending. Every resource must be returned, and none before its
// dependents.

#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/event_handle.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "array_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

/// A named resource that the test releases.
struct Owned {
  char const* name;
  std::function<void()> release;
};

/// For each order: calls `make(sim)` on new devices and releases its resources in that order.
template <class Make>
void in_every_order(std::size_t count, Make const& make) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  int orders = 0;
  do {
    std::int64_t const blocks = live_memory().blocks;
    std::string words;
    testing::SimulatedDevices sim;
    {
      auto const things = make(sim);
      std::vector<Owned> const owned = things->all();
      ASSERT_EQ(owned.size(), count);
      for (std::size_t const i : order) {
        owned[i].release();
        words += std::string(words.empty() ? "" : ", ") + owned[i].name;
      }
    }
    SCOPED_TRACE(words);
    sim.end();
    EXPECT_EQ(sim.violations(), std::vector<std::string>());
    EXPECT_EQ(sim.live(), testing::LiveResources()) << ::testing::PrintToString(sim.live_resources());
    EXPECT_EQ(live_memory().blocks, blocks);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()) && !::testing::Test::HasFailure());
  EXPECT_GE(orders, 24);
}

struct Handles {
  explicit Handles(testing::SimulatedDevices& sim) {
    constexpr std::size_t bytes = 4096;
    detail::ContextScope const scope(context);
    sim.delay(1ms);
    DriverTable const& cuda = *scope.driver();
    EXPECT_EQ(cuda.cuMemsetD8Async(as_cu(pointer), 1, bytes, as_cu(stream)), 0);
    EXPECT_TRUE(record(event, stream));
    EXPECT_EQ(cuda.cuMemsetD8Async(as_cu(pointer), 2, bytes, as_cu(stream)), 0);
    EXPECT_TRUE(free_after(pointer, event));
  }
  [[nodiscard]] std::vector<Owned> all() {
    return {{"context", [&] { context = {}; }},
            {"stream", [&] { stream = {}; }},
            {"event", [&] { event = {}; }},
            {"pool", [&] { pool = {}; }},
            {"pointer", [&] { pointer = {}; }}};
  }

  ContextHandle context = create_context_handle(0);
  StreamHandle stream = create_stream_handle(context);
  EventHandle event = create_event_handle(context);
  MemoryPoolHandle pool = create_memory_pool_handle(0);
  DevicePtrHandle pointer = allocate_from_pool(pool, stream, 4096);
};

class DestructionOrdersTest : protected test::CountedArrays, public ::testing::Test {};

TEST_F(DestructionOrdersTest, HandlesAreReleasedInEveryOrder) {
  in_every_order(5, [](testing::SimulatedDevices& sim) { return std::make_unique<Handles>(sim); });
}

/// `owns_context`: the stream's context belongs to the program and is released with the stream.
template <bool writes, bool owns_context>
struct Arrays {
  static constexpr std::int64_t length = 100;
  using Lease = std::conditional_t<writes, WriteLease<int, 1>, ReadLease<int, 1>>;

  explicit Arrays(testing::SimulatedDevices& sim) {
    array.emplace(std::array<std::int64_t, 1>{length});
    array->move_memory(kDLCUDA, 0, 0, -1, false);
    sim.delay(1ms);
    for_each_index(*array, stream, [](int& element, auto const&) { ++element; });
    lease.emplace(*array, LeaseOptions{.stream = stream});
    tensor = array->get_dlpack_tensor(true, lease->lock_id());
    auto* const elements = static_cast<int*>(testing::detail::reachable(lease->ptr()));
    detail::launch_emulated(detail::bind_stream(stream, context_of(stream)), [elements] {
      int volatile seen = elements[length - 1];
      if (writes) elements[0] = seen;
    });
  }
  [[nodiscard]] std::vector<Owned> all() {
    return {{"array", [&] { array.reset(); }},
            {"lease", [&] { lease.reset(); }},
            {"tensor", [&] { tensor = DLPackTensor(); }},
            {"stream", [&] { stream = {}; }}};
  }

  StreamHandle stream = create_stream_handle(owns_context ? create_context_handle(0) : get_primary_context(0));
  std::optional<MemArray<int, 1>> array;
  std::optional<Lease> lease;
  DLPackTensor tensor;
};

TEST_F(DestructionOrdersTest, ArrayWithPendingReadIsReleasedInEveryOrder) {
  in_every_order(4, [](testing::SimulatedDevices& sim) { return std::make_unique<Arrays<false, false>>(sim); });
}

TEST_F(DestructionOrdersTest, ArrayWithPendingWriteIsReleasedInEveryOrder) {
  in_every_order(4, [](testing::SimulatedDevices& sim) { return std::make_unique<Arrays<true, false>>(sim); });
}

TEST_F(DestructionOrdersTest, ArrayWithPendingWriteInNonPrimaryContextIsReleasedInEveryOrder) {
  in_every_order(4, [](testing::SimulatedDevices& sim) { return std::make_unique<Arrays<true, true>>(sim); });
}

/// An export to a consumer's stream.
struct Exported {
  explicit Exported(testing::SimulatedDevices& sim) {
    array.emplace(std::array<std::int64_t, 1>{100});
    array->move_memory(kDLCUDA, 0, 0, -1, false);
    lease.emplace(array->state_ptr(), detail::LeaseCore::Kind::write, LeaseOptions{});
    lease->enter();
    sim.delay(1ms);
    tensor = DLPackTensor(detail::export_versioned(*lease, {.stream = &stream}));
    auto* const elements = static_cast<int*>(testing::detail::reachable(tensor.tensor().data));
    detail::launch_emulated(detail::bind_stream(stream, context_of(stream)), [elements] { elements[99] = 3; });
  }
  [[nodiscard]] std::vector<Owned> all() {
    return {{"array", [&] { array.reset(); }},
            {"lease", [&] { lease.reset(); }},
            {"tensor", [&] { tensor = DLPackTensor(); }},
            {"stream", [&] { stream = {}; }}};
  }

  StreamHandle stream = create_stream_handle(get_primary_context(0));
  std::optional<MemArray<int, 1>> array;
  std::optional<detail::LeaseCore> lease;
  DLPackTensor tensor;
};

TEST_F(DestructionOrdersTest, ExportToConsumerStreamIsReleasedInEveryOrder) {
  in_every_order(4, [](testing::SimulatedDevices& sim) { return std::make_unique<Exported>(sim); });
}

/// A pending copy between pageable memory and a device.
struct Moving {
  explicit Moving(testing::SimulatedDevices& sim) {
    for (auto* const each : {&there, &back}) each->emplace(std::array<std::int64_t, 1>{100});
    back->move_memory(kDLCUDA, 0, 0, -1, false);
    for_each_index(**&back, stream, [](int& element, auto const&) { ++element; });
    sim.delay(1ms);
    there->move_memory(kDLCUDA, as_intptr(stream), 0);
    back->move_memory(kDLCPU, as_intptr(stream), 0);
    twin.emplace(*there);
  }
  [[nodiscard]] std::vector<Owned> all() {
    // The stream of a move must live until the copy completes.
    return {{"there", [&] { there.reset(); }},
            {"back", [&] { back.reset(); }},
            {"twin", [&] { twin.reset(); }},
            {"stream", [&] {
               EXPECT_TRUE(synchronize(stream, context_of(stream)));
               stream = {};
             }}};
  }

  StreamHandle stream = create_stream_handle(get_primary_context(0));
  std::optional<MemArray<int, 1>> there;
  std::optional<MemArray<int, 1>> back;
  std::optional<MemArray<int, 1>> twin;
};

TEST_F(DestructionOrdersTest, ArraysWithPendingMovesAreReleasedInEveryOrder) {
  in_every_order(4, [](testing::SimulatedDevices& sim) { return std::make_unique<Moving>(sim); });
}

}  // namespace
}  // namespace memarray
