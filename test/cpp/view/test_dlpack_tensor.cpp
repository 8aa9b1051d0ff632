#include <memarray/view/dlpack_tensor.hpp>

#include <gtest/gtest.h>

#include <malloc.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "array/array_test.hpp"
#include "base/one_processor.hpp"

struct Particle {
  float mass = 1;
  std::int32_t id = 7;
};
MEMARRAY_DTYPE(Particle);

namespace memarray::test {
namespace {

using detail::LeaseCore;

static_assert(std::is_nothrow_move_constructible_v<DLPackTensor>);
static_assert(!std::is_copy_constructible_v<DLPackTensor>);

class DLPackTensorTest : public ArrayTest {
 protected:
  MemArray<float, 3> array{{2, 3, 4}};
};

void expect_dense(DLTensor const& tensor, std::vector<std::int64_t> const& shape) {
  ASSERT_EQ(tensor.ndim, static_cast<int>(shape.size()));
  ASSERT_NE(tensor.strides, nullptr);
  ASSERT_NE(tensor.data, nullptr);
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    EXPECT_EQ(tensor.shape[d], shape[d]);
    EXPECT_EQ(tensor.strides[d], stride);
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  EXPECT_EQ(tensor.byte_offset, 0U);
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.device.device_id, 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data) % 64, 0U);
}

TEST_F(DLPackTensorTest, DescribesTheArray) {
  WriteLease const lease(array);
  for (bool const versioned : {false, true}) {
    DLPackTensor const tensor = array.get_dlpack_tensor(versioned, lease.lock_id());
    EXPECT_EQ(tensor.is_versioned(), versioned);
    expect_dense(tensor.tensor(), {2, 3, 4});
    EXPECT_EQ(tensor.tensor().data, lease.ptr());
    EXPECT_EQ(tensor.tensor().dtype.code, kDLFloat);
    EXPECT_EQ(tensor.tensor().dtype.bits, 32);
    EXPECT_EQ(tensor.tensor().dtype.lanes, 1);
    EXPECT_EQ(tensor.flags(), 0U);
  }
}

TEST_F(DLPackTensorTest, HasVersionAndReadOnlyFlag) {
  DLPackTensor tensor = array.get_dlpack_tensor(true);
  EXPECT_EQ(tensor.flags(), DLPACK_FLAG_BITMASK_READ_ONLY);
  DLManagedTensorVersioned* const managed = tensor.release_versioned();
  EXPECT_EQ(managed->version.major, static_cast<std::uint32_t>(DLPACK_MAJOR_VERSION));
  EXPECT_EQ(managed->version.minor, static_cast<std::uint32_t>(DLPACK_MINOR_VERSION));
  EXPECT_NE(managed->deleter, nullptr);
  managed->deleter(managed);
}

TEST_F(DLPackTensorTest, UnversionedReadOnlyExportIsRefused) {
  auto const words = message_of<BufferError>([&] { static_cast<void>(array.get_dlpack_tensor(false)); });
  EXPECT_NE(words.find("read-only"), std::string::npos);
  EXPECT_NE(words.find("max_version=(1, 0)"), std::string::npos);
  LeaseCore lease(array.state_ptr(), LeaseCore::Kind::read, {});
  lease.enter();
  EXPECT_THROW(static_cast<void>(detail::export_unversioned(lease)), BufferError);
  EXPECT_EQ(array.state().residency().block().exports().total(), 0U);
}

TEST_F(DLPackTensorTest, EmptyArraysHaveStridesAndAnAddress) {
  for (std::array<std::int64_t, 3> const shape :
       {std::array<std::int64_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {0, 0, 0}}) {
    MemArray<float, 3> empty(shape);
    DLPackTensor const tensor = empty.get_dlpack_tensor(true);
    expect_dense(tensor.tensor(), {shape.begin(), shape.end()});
  }
}

TEST_F(DLPackTensorTest, EachExportHasItsOwnShapeAndStrides) {
  WriteLease<float, 3> lease(array);
  View<float> first(array.get_dlpack_tensor(true, lease.lock_id()));
  View<float> second(array.get_dlpack_tensor(true, lease.lock_id()));
  EXPECT_NE(first.tensor().tensor().shape, second.tensor().tensor().shape);
  // A consumer may overwrite its own shape and strides.
  first.tensor().tensor().shape[0] = 99;
  first.tensor().tensor().strides[0] = 99;
  expect_dense(second.tensor().tensor(), {2, 3, 4});
  first.drop();
  View<float> third(array.get_dlpack_tensor(true, lease.lock_id()));
  expect_dense(third.tensor().tensor(), {2, 3, 4});
  expect_dense(second.tensor().tensor(), {2, 3, 4});
}

TEST_F(DLPackTensorTest, ExportKeepsItsShapeAfterAResize) {
  View<float> view = escaped_read_only(array);
  array.resize({1, 1, 1});
  expect_dense(view.tensor().tensor(), {2, 3, 4});
}

TEST_F(DLPackTensorTest, DeletersRunInAnyOrderOnAnyThread) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    auto own = std::make_unique<MemArray<float, 3>>(std::array<std::int64_t, 3>{2, 3, 4});
    own->fill(5);
    std::vector<View<float>> views;
    auto lease = core_lease(*own, LeaseCore::Kind::write);
    lease->enter();
    for (int i = 0; i < 3; ++i) {
      views.emplace_back(DLPackTensor(detail::export_versioned(*lease)));
      views.emplace_back(DLPackTensor(detail::export_unversioned(*lease)));
    }
    // The array, lease and views are released in random order.
    std::vector<int> order(2 + views.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::thread> threads;
    for (int const which : order) {
      if (which == 0) {
        own.reset();
      } else if (which == 1) {
        lease.reset();
      } else {
        View<float>& view = views[static_cast<std::size_t>(which) - 2];
        ASSERT_EQ(view.data()[23], 5);
        if (which % 2 == 0)
          view.drop();
        else
          threads.emplace_back([&view] { view.drop(); });
      }
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(live_blocks(), 1) << "only the fixture's is left";
  }
}

TEST_F(DLPackTensorTest, IsDeletedOnceByItsLastOwner) {
  detail::Block const& block = array.state().residency().block();
  DLPackTensor first = array.get_dlpack_tensor(true);
  DLPackTensor second = array.get_dlpack_tensor(true);
  EXPECT_EQ(block.exports().read_only, 2U);
  DLPackTensor moved = std::move(first);
  EXPECT_EQ(block.exports().read_only, 2U);
  moved = std::move(second);
  {
    DLPackTensor const gone = std::move(second);
  }
  EXPECT_EQ(block.exports().read_only, 1U);
  DLManagedTensorVersioned* const taken = moved.release_versioned();
  {
    DLPackTensor const empty = std::move(moved);
  }
  EXPECT_EQ(block.exports().read_only, 1U) << "the caller of release deletes it";
  EXPECT_EQ(static_cast<float*>(taken->dl_tensor.data)[0], 0);
  taken->deleter(taken);
  EXPECT_EQ(block.exports().total(), 0U);
}

TEST_F(DLPackTensorTest, DeleterAcceptsNull) {
  DLPackTensor tensor = array.get_dlpack_tensor(true);
  DLManagedTensorVersioned* const taken = tensor.release_versioned();
  auto const deleter = taken->deleter;
  deleter(taken);
  deleter(nullptr);
  EXPECT_EQ(tensor.release_unversioned(), nullptr);
  EXPECT_EQ(tensor.release_versioned(), nullptr);
}

TEST_F(DLPackTensorTest, CopiesAreIndependentOfTheArray) {
  count_up(array);
  auto const before = contents(array);
  for (auto const kind : {LeaseCore::Kind::read, LeaseCore::Kind::write}) {
    auto const lease = core_lease(array, kind);
    lease->enter();
    View<float> versioned{DLPackTensor(detail::export_versioned(*lease, {.copy = true}))};
    View<float> unversioned{DLPackTensor(detail::export_unversioned(*lease, {.copy = true}))};
    EXPECT_EQ(versioned.tensor().flags(), DLPACK_FLAG_BITMASK_IS_COPIED) << "never read-only";
    expect_dense(versioned.tensor().tensor(), {2, 3, 4});
    expect_dense(unversioned.tensor().tensor(), {2, 3, 4});
    EXPECT_EQ(versioned.copy(), before);
    EXPECT_EQ(array.state().residency().block().exports().total(), 0U) << "a copy is no export of the array";
    versioned.data()[0] = 55;
    unversioned.data()[0] = 56;
    EXPECT_EQ(contents(array), before);
    lease->exit();
    array.fill(0);
    EXPECT_EQ(versioned.data()[1], 1);
    count_up(array);
  }
}

TEST_F(DLPackTensorTest, ExportsDoNotLeakMemory) {
  WriteLease const lease(array);
  auto const export_many = [&](int count) {
    for (int i = 0; i < count; ++i) {
      DLPackTensor const first = array.get_dlpack_tensor(i % 2 == 0, lease.lock_id());
      DLPackTensor const second = array.get_dlpack_tensor(true, lease.lock_id());
      ASSERT_EQ(first.tensor().data, second.tensor().data);
    }
  };
  export_many(1000);
  auto const before = mallinfo2().uordblks;
  export_many(100'000);
  EXPECT_LT(mallinfo2().uordblks, before + 64 * 1024);
  EXPECT_EQ(array.state().residency().block().exports().total(), 0U);
}

TEST_F(DLPackTensorTest, StructsAreRefused) {
  MemArray<Particle, 1> particles({4});
  EXPECT_THROW(static_cast<void>(particles.get_dlpack_tensor(true)), BufferError);
  WriteLease const lease(particles);
  EXPECT_NE(message_of<BufferError>([&] {
              static_cast<void>(particles.get_dlpack_tensor(true, lease.lock_id()));
            }).find("Particle"),
            std::string::npos);
  EXPECT_EQ(particles({3}, lease.lock_id()).id, 7);
}

TEST_F(DLPackTensorTest, UnknownLockIdIsRefused) {
  EXPECT_THROW(static_cast<void>(array.get_dlpack_tensor(true, 5)), LockError);
  ReadLease const lease(array);
  EXPECT_THROW(static_cast<void>(array.get_dlpack_tensor(true, 5)), LockError);
  EXPECT_EQ(array.get_dlpack_tensor(true).flags(), DLPACK_FLAG_BITMASK_READ_ONLY);
}

TEST_F(DLPackTensorTest, CopyUnderAClosedLeaseIsRefusedAndCountsNoExport) {
  auto const lease = core_lease(array, LeaseCore::Kind::read);
  lease->enter();
  auto const blocks = live_blocks();
  {
    View<float> const view{DLPackTensor(detail::export_versioned(*lease, {.copy = true}))};
  }
  EXPECT_EQ(live_blocks(), blocks);
  lease->exit();
  EXPECT_THROW(static_cast<void>(detail::export_versioned(*lease, {.copy = true})), LockError);
  EXPECT_EQ(array.state().residency().block().exports().total(), 0U);
}

// One thread exports through a lease that another thread closes, then writes. The export is either refused or never
// changes its contents.
TEST_F(DLPackTensorTest, AnExportThatRacesWithTheEndOfItsLeaseIsRefusedOrASnapshot) {
  OneProcessor const here;
  std::int64_t granted = 0;
  for (int round = 0; round < 4000; ++round) {
    array.fill(1);
    auto const lease = core_lease(array, LeaseCore::Kind::read);
    lease->enter();
    std::optional<View<float>> last;
    std::thread exporter([&] {
      try {
        do {
          last.reset();
          last.emplace(DLPackTensor(detail::export_versioned(*lease)));
          ++granted;
        } while (lease->is_open());
      } catch (LockError const&) {
      }
    });
    std::this_thread::sleep_for(std::chrono::microseconds(200 + round % 100));
    lease->exit();
    array.fill(2);
    exporter.join();
    if (!last) continue;
    for (float const element : last->copy()) ASSERT_EQ(element, 1) << "round " << round;
  }
  EXPECT_GT(granted, 0);
}

TEST_F(DLPackTensorTest, ACopyThatRacesWithTheEndOfItsLeaseIsRefusedOrWhole) {
  MemArray<std::int32_t, 1> large({1 << 14});
  for (int round = 0; round < 100; ++round) {
    large.resize({1 << 14});
    large.fill(1);
    auto const lease = core_lease(large, LeaseCore::Kind::read);
    lease->enter();
    std::atomic<bool> started{false};
    bool torn = false;
    std::thread copier([&] {
      started = true;
      try {
        View<std::int32_t> const view{DLPackTensor(detail::export_versioned(*lease, {.copy = true}))};
        for (std::int32_t const element : view.copy()) torn = torn || element != 1;
      } catch (LockError const&) {
      }
    });
    while (!started) std::this_thread::yield();
    lease->exit();
    large.fill(2);
    large.resize({8});
    copier.join();
    ASSERT_FALSE(torn) << "round " << round;
  }
}

// The consumer's last reads and the next write are ordered by the export counts, or use two blocks.
TEST_F(DLPackTensorTest, TheLastDropMayRaceWithAWrite) {
  MemArray<std::int32_t, 1> small({256});
  for (int round = 0; round < 2000; ++round) {
    small.fill(round);
    View<std::int32_t> view = escaped_read_only(small);
    bool torn = false;
    std::thread consumer([&] {
      for (std::int32_t const element : view.copy()) torn = torn || element != round;
      view.drop();
    });
    if (round % 2 == 0)
      small.fill(-1);
    else
      WriteLease(small).ptr()[0] = -1;
    consumer.join();
    ASSERT_FALSE(torn) << "round " << round;
    ASSERT_EQ(small({0}), -1);
  }
}

}  // namespace
}  // namespace memarray::test
