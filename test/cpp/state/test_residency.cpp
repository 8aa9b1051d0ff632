#include <memarray/detail/state/residency.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "array/array_test.hpp"

#include <memarray/base/live_memory.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/kernel/for_each_index.hpp>
#include <memarray/memory/driver_resource.hpp>

namespace memarray::test {
namespace {

class ResidencyTest : public DeviceArrayTest {
 protected:
  ResidencyTest() : DeviceArrayTest({.lend_as_cuda = true}) {}

  [[nodiscard]] static MemArray<int, 1> managed() {
    ContextHandle const context = detail::DeviceMemory::of(0)->context();
    return MemArray<int, 1>({8}, 0, {.resource = MemoryResource(DriverResource::managed(context))});
  }
};

TEST_F(ResidencyTest, AdoptedUnifiedMemoryIsExportedAsManaged) {
  MemArray<int, 1> owner = managed();
  MemArray<int, 1> const adopted = MemArray<int, 1>::adopt(WriteLease<int, 1>(owner).view());
  EXPECT_EQ(owner.get_dlpack_device().first, kDLCUDAManaged);
  EXPECT_EQ(adopted.get_dlpack_device(), owner.get_dlpack_device());
  EXPECT_EQ(adopted.state().residency().memory_type(), MemoryType::unified);
  EXPECT_TRUE(adopted.is_foreign());
}

TEST_F(ResidencyTest, MemoryTypeAndDeviceFollowMovesResizesAndExchanges) {
  MemArray<int, 1> one = managed();
  MemArray<int, 1> other({8}, 1);
  detail::Residency const& residency = one.state().residency();
  EXPECT_EQ(residency.memory_type(), MemoryType::unified);
  one.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(residency.device(), (Device{kDLCUDA, 0}));
  EXPECT_EQ(residency.memory_type(), MemoryType::device);
  one.resize({16});
  EXPECT_EQ(residency.exported_device(), (Device{kDLCUDA, 0}));
  one.move_memory(kDLCPU, 0, 0);
  EXPECT_EQ(residency.memory_type(), MemoryType::unified);
  EXPECT_EQ(residency.exported_device().type, kDLCUDAManaged);
  one.exchange(other);
  EXPECT_EQ(residency.memory_type(), MemoryType::normal);
  EXPECT_EQ(residency.device_id(), 1);
  EXPECT_EQ(residency.exported_device(), Device{});
  EXPECT_EQ(other.state().residency().memory_type(), MemoryType::unified);
  EXPECT_EQ(other.get_device_id(), 0);
}

// Under the thread sanitizer this also shows that no fact is read from a block that is being replaced.
TEST_F(ResidencyTest, MemoryTypeAndDeviceAreReadableDuringConcurrentMoves) {
  MemArray<int, 1> one = managed();
  MemArray<int, 1> other({8}, 1);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) {
      for (MemArray<int, 1> const* const array : {&one, &other}) {
        std::ignore = array->is_foreign();
        std::ignore = array->state().residency().memory_type();
        Device const device = array->state().residency().device();
        EXPECT_TRUE(device == Device{} || device == (Device{kDLCUDA, 0}) || device == (Device{kDLCUDA, 1}));
        DLDeviceType const exported = array->get_dlpack_device().first;
        EXPECT_TRUE(exported == kDLCPU || exported == kDLCUDA || exported == kDLCUDAManaged);
      }
    }
  });
  for (int i = 0; i < 50; ++i) {
    one.move_memory(kDLCUDA, 0, 0);
    one.exchange(other);
    one.resize({8 + i});
    other.move_memory(kDLCPU, 0, 0);
  }
  done = true;
  reader.join();
}

class RefusedGroupTest : public DeviceArrayTest {
 protected:
  RefusedGroupTest() {
    count_up(moves);
    holder.emplace(held);
  }
  /// Opens two leases on a device, of which the second array is held.
  void open(detail::LeaseCore::Kind kind) {
    LeaseOptions const options{.device = Device{kDLCUDA, 0}};
    detail::LeaseCore first(moves.state_ptr(), kind, options);
    detail::LeaseCore second(held.state_ptr(), detail::LeaseCore::Kind::read, options);
    std::array<detail::LeaseCore*, 2> const both{&first, &second};
    EXPECT_THROW(detail::enter_all(both, no_wait, {}), LockError);
  }
  // Arrays are acquired in the order of their states.
  MemArray<double, 1> one{{8}};
  MemArray<double, 1> two{{8}};
  MemArray<double, 1>& moves = &one.state() < &two.state() ? one : two;
  MemArray<double, 1>& held = &one.state() < &two.state() ? two : one;
  std::optional<WriteLease<double, 1>> holder;
};

TEST_F(RefusedGroupTest, LeavesOtherArrayOnHostAndUnlocked) {
  auto const before = contents(moves);
  for (auto const kind : {detail::LeaseCore::Kind::read, detail::LeaseCore::Kind::write}) {
    open(kind);
    EXPECT_FALSE(moves.get_on_device());
    EXPECT_EQ(contents(moves), before);
    EXPECT_EQ(moves.state().lock().word().load(), detail::LockWord::free);
  }
}

TEST_F(RefusedGroupTest, ARefusedLeaseOpensAfterAMove) {
  detail::LeaseCore first(moves.state_ptr(), detail::LeaseCore::Kind::read, {});
  detail::LeaseCore second(held.state_ptr(), detail::LeaseCore::Kind::read, {});
  std::array<detail::LeaseCore*, 2> const both{&first, &second};
  moves.move_memory(kDLCUDA, 0, 0);
  EXPECT_THROW(detail::enter_all(both, no_wait, {}), LockError);
  moves.move_memory(kDLCPU, 0, 0);
  moves.resize({9});
  first.enter();
  EXPECT_EQ(first.stream_lease(), 0U) << "of the refused attempt";
  EXPECT_NO_THROW(first.order_export(nullptr));
}

TEST_F(RefusedGroupTest, DoesNotMoveAnArrayUnderOtherReaders) {
  moves.move_memory(kDLCUDA, 0, 0);
  ReadLease<double, 1> const reader(moves);
  open(detail::LeaseCore::Kind::read);
  EXPECT_TRUE(moves.get_on_device());
}

class LeasedMemoryTest : public DeviceArrayTest {
 protected:
  MemArray<double, 1> array{{1000}};
};

TEST_F(LeasedMemoryTest, ADiscardedBlockIsFreedWithItsLastView) {
  std::optional<View<double>> view(escaped_read_only(array));
  detail::LeaseCore lease(array.state_ptr(), detail::LeaseCore::Kind::write, {.discard = true});
  lease.enter();
  std::int64_t const before = live_memory().bytes;
  view.reset();
  EXPECT_EQ(live_memory().bytes, before - 8000) << "the lease keeps memory that it does not use";
}

TEST_F(LeasedMemoryTest, AHostKernelThatThrowsLeavesTheOtherSideStale) {
  count_up(array);
  array.move_memory(kDLCUDA, 0, 0);
  array.move_memory(kDLCPU, 0, 0);
  auto const kernel = [](double& element, auto const& indices) {
    if (indices[0] == 999) throw std::runtime_error("a test");
    element = -1;
  };
  EXPECT_THROW(for_each_index(array, default_stream(), kernel), std::runtime_error);
  auto const here = contents(array);
  array.move_memory(kDLCUDA, 0, 0);
  for (std::int64_t const at : {0, 1, 500, 999}) EXPECT_EQ(array({at}), here[static_cast<std::size_t>(at)]) << at;
}

TEST_F(LeasedMemoryTest, TheCpuIsOneDeviceWhateverItsNumber) {
  std::byte const* const memory = memory_of(array);
  for (auto const kind : {detail::LeaseCore::Kind::read, detail::LeaseCore::Kind::write}) {
    detail::LeaseCore lease(array.state_ptr(), kind, {.device = Device{kDLCPU, 1}});
    lease.enter();
    EXPECT_EQ(lease.block().data(), memory);
  }
  array.move_memory(kDLCPU, 0, 1);
  EXPECT_EQ(memory_of(array), memory);
  EXPECT_EQ(copies(), 0);
}

}  // namespace
}  // namespace memarray::test
