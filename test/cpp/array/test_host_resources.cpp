// Arrays in pinned or managed host memory. The driver copies it directly in stream order, without staging.

#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <chrono>
#include <optional>
#include <ostream>
#include <utility>

#include "array_test.hpp"

namespace memarray {
namespace {

using namespace std::chrono_literals;

struct Kind {
  char const* name;
  DriverResource (*make)(ContextHandle);
  MemoryType type;
  DLDeviceType exported;
};
Kind const kinds[] = {
    {"pinned", &DriverResource::pinned, MemoryType::pinned, kDLCPU},
    {"managed", &DriverResource::managed, MemoryType::unified, kDLCUDAManaged},
};
void PrintTo(Kind const& kind, std::ostream* out) { *out << kind.name; }

class HostResourcesTest : public test::DeviceArrayTest, public ::testing::WithParamInterface<Kind> {
 protected:
  static constexpr std::int64_t length = 1000;

  HostResourcesTest() : DeviceArrayTest({.lend_as_cuda = true}) {
    a.emplace(std::array<std::int64_t, 1>{length}, 0,
              ArrayOptions{.resource = MemoryResource(GetParam().make(context))});
    test::count_up(*a);
    stream = create_stream_handle(context);
  }

  void add_one() {
    for_each_index(*a, stream, [](int& element, auto const&) { ++element; });
  }
  void move(DLDeviceType type, int device = 0, bool async = true) {
    a->move_memory(type, as_intptr(stream), device, -1, async);
  }

  [[nodiscard]] std::int64_t live() const { return sim.live().pinned_memory + sim.live().managed_memory; }

  ContextHandle context = detail::DeviceMemory::of(0)->context();
  StreamHandle stream;
  std::optional<MemArray<int, 1>> a;
};

TEST_P(HostResourcesTest, MemoryTypeIsKeptThroughCopyAndResize) {
  EXPECT_EQ(a->state().residency().block().memory_type(), GetParam().type);
  EXPECT_EQ(live(), 1);
  EXPECT_EQ(a->view().memory_type(), GetParam().type);
  EXPECT_EQ((*a)({42}), 42);
  MemArray<int, 1> const twin = *a;
  EXPECT_EQ(twin.state().residency().block().memory_type(), GetParam().type);
  a->resize({length + 1});
  EXPECT_EQ(a->state().residency().block().memory_type(), GetParam().type);
  EXPECT_EQ((*a)({length}), 0);
}

TEST_P(HostResourcesTest, OnlyUnifiedMemoryIsUsedOnDeviceWithoutCopy) {
  BufferView const there = WriteLease<int, 1>(*a).view().to_device({kDLCUDA, 0});
  bool const is_unified = GetParam().type == MemoryType::unified;
  EXPECT_EQ(there.core().data() == a->state().residency().block().data(), is_unified);
  EXPECT_EQ(there.memory_type(), is_unified ? MemoryType::unified : MemoryType::device);
  EXPECT_EQ(there.device(), (Device{kDLCUDA, 0}));
  int const seven = 7;
  there.core().fill(&seven);
  BufferView const back = there.to_device(Device{});
  EXPECT_EQ(back.core().data() == there.core().data(), is_unified);
  EXPECT_EQ((back.as<int, 1>()(length - 1)), 7);
}

TEST_P(HostResourcesTest, AsyncMovesCopyDirectlyWithoutBlocking) {
  sim.delay(3ms);
  auto const blocking = [&] {
    return sim.calls("cuStreamSynchronize") + sim.calls("cuEventSynchronize") + sim.calls("cuCtxSynchronize");
  };
  std::uint64_t const before = blocking();
  move(kDLCUDA);
  add_one();
  move(kDLCPU);
  EXPECT_EQ(blocking(), before) << "a copy that may go on was waited for";
  EXPECT_EQ(sim.calls("cuLaunchHostFunc"), 0u) << "the host copied in between";
  EXPECT_EQ(sim.calls("cuMemcpyHtoDAsync"), 1u);
  EXPECT_EQ(sim.calls("cuMemcpyDtoHAsync"), 1u);
  for (std::int64_t i = 0; i < length; ++i) ASSERT_EQ((*a)({i}), i % 100 + 1);
  EXPECT_EQ(a->state().residency().block().memory_type(), GetParam().type);
}

TEST_P(HostResourcesTest, HostWriteDoesNotAffectPendingCopy) {
  sim.delay(10ms);
  move(kDLCUDA);
  DLPackTensor const there = a->get_dlpack_tensor(true);
  // Both sides are valid. The pending copy still reads the side that is written now.
  move(kDLCPU);
  a->write({5}, 77);
  ASSERT_TRUE(synchronize(stream, context));
  EXPECT_EQ(static_cast<int const*>(testing::detail::reachable(there.tensor().data))[5], 5);
  EXPECT_EQ((*a)({5}), 77);
}

TEST_P(HostResourcesTest, MovesBetweenDevices) {
  move(kDLCUDA);
  add_one();
  a->move_memory(kDLCUDA, 0, 1);
  EXPECT_EQ(a->get_device_id(), 1);
  EXPECT_EQ((*a)({99}), 100);
  a->move_memory(kDLCPU, 0, 0);
  EXPECT_EQ((*a)({99}), 100);
}

TEST_P(HostResourcesTest, ExportedDeviceFollowsMoves) {
  EXPECT_EQ(a->get_dlpack_device(), std::pair(GetParam().exported, 0));
  {
    DLPackTensor const tensor = a->get_dlpack_tensor(true);
    EXPECT_EQ(tensor.tensor().device.device_type, GetParam().exported);
    EXPECT_EQ(static_cast<int const*>(tensor.tensor().data)[7], 7);
  }
  move(kDLCUDA);
  EXPECT_EQ(a->get_dlpack_device(), std::pair(kDLCUDA, 0));
  move(kDLCPU);
  EXPECT_EQ(a->get_dlpack_device(), std::pair(GetParam().exported, 0));
}

TEST_P(HostResourcesTest, HostExportUsesArrayMemory) {
  detail::LeaseCore lease(a->state_ptr(), detail::LeaseCore::Kind::write, {});
  lease.enter();
  DLPackTensor const tensor(detail::export_versioned(lease, {.to_host = true}));
  EXPECT_EQ(tensor.tensor().device.device_type, kDLCPU);
  EXPECT_EQ(static_cast<std::byte*>(tensor.tensor().data), test::memory_of(*a));
}

TEST_P(HostResourcesTest, EscapedViewIsUnchangedByMovesAndKernel) {
  DLPackTensor const kept = a->get_dlpack_tensor(true);
  move(kDLCUDA);
  add_one();
  sim.delay(5ms);
  move(kDLCPU);
  EXPECT_EQ((*a)({7}), 8);
  EXPECT_EQ(static_cast<int const*>(kept.tensor().data)[7], 7);
}

TEST_P(HostResourcesTest, ArrayMayBeDestroyedDuringCopyToDevice) {
  sim.delay(20ms);
  move(kDLCUDA);
  a.reset();
  // Freeing memory under a copy would be a violation. The memory is released by the first call after the copy.
  EXPECT_EQ(live(), 1);
  ASSERT_TRUE(synchronize(stream, context));
  MemArray<int, 1> const next({1});
  EXPECT_EQ(live(), 0);
}

TEST_P(HostResourcesTest, ArrayMayBeDestroyedDuringCopyToHost) {
  move(kDLCUDA, 0, false);
  add_one();
  sim.delay(20ms);
  move(kDLCPU);
  a.reset();
  EXPECT_EQ(live(), 1);
  ASSERT_TRUE(synchronize(stream, context));
  MemArray<int, 1> const next({1});
  EXPECT_EQ(live(), 0);
}

TEST_P(HostResourcesTest, ExportOutlivesArrayDuringCopyToHost) {
  move(kDLCUDA, 0, false);
  add_one();
  sim.delay(20ms);
  move(kDLCPU);
  DLPackTensor tensor = a->get_dlpack_tensor(true);
  a.reset();
  EXPECT_EQ(static_cast<int const*>(tensor.tensor().data)[7], 8);
  tensor = {};
  // A consumer that names no stream may have used unified memory in the default stream.
  ASSERT_TRUE(synchronize(default_stream(), context));
  MemArray<int, 1> const next({1});
  EXPECT_EQ(live(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, HostResourcesTest, ::testing::ValuesIn(kinds),
                         [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace memarray
