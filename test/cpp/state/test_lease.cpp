#include <memarray/state/lease.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::LeaseCore;
using namespace std::chrono_literals;

class LeaseTest : public ArrayTest {
 protected:
  MemArray<double, 2> array{{3, 4}};
};

static_assert(std::is_nothrow_move_constructible_v<ReadLease<float, 3>>);
static_assert(!std::is_copy_constructible_v<WriteLease<float, 3>>);
static_assert(std::is_same_v<decltype(std::declval<ReadLease<int, 1>>().ptr()), int const*>);
static_assert(std::is_same_v<decltype(std::declval<WriteLease<int, 1>>().ptr()), int*>);

TEST_F(LeaseTest, AReadLeaseHasNoId) {
  ReadLease const lease(array);
  EXPECT_TRUE(lease.is_open());
  EXPECT_EQ(lease.lock_id(), -1);
  EXPECT_EQ(array.get_lock_id(), -1);
  EXPECT_EQ(lease.indexer().size(), 12);
  EXPECT_EQ(lease.ptr(), std::as_const(array).ptr());
}

TEST_F(LeaseTest, WriteLeaseIdsAreUniqueAndOutsideCallerRange) {
  std::int64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    WriteLease const lease(array);
    EXPECT_GE(lease.lock_id(), std::int64_t{1} << 62);
    EXPECT_EQ(array.get_lock_id(), lease.lock_id());
    EXPECT_NE(lease.lock_id(), last);
    last = lease.lock_id();
  }
  EXPECT_EQ(array.get_lock_id(), -1);
}

TEST_F(LeaseTest, WritesThroughIndexerReachArray) {
  {
    WriteLease const lease(array);
    lease.indexer()[{2, 3}] = 7;
    EXPECT_EQ(array({2, 3}, lease.lock_id()), 7);
  }
  EXPECT_EQ(array({2, 3}), 7);
}

TEST_F(LeaseTest, ClosedLeaseRefusesAccessAndMayBeClosedAgain) {
  WriteLease lease(array);
  std::int64_t const id = lease.lock_id();
  lease.close();
  lease.close();
  EXPECT_FALSE(lease.is_open());
  EXPECT_EQ(lease.lock_id(), -1);
  EXPECT_THROW(static_cast<void>(lease.ptr()), LockError);
  EXPECT_THROW(static_cast<void>(lease.indexer()), LockError);
  EXPECT_THROW(static_cast<void>(array.get_dlpack_tensor(true, id)), LockError);
  WriteLease const next(array);
  lease.close();
  EXPECT_EQ(array.get_lock_id(), next.lock_id()) << "closing the old one again must not end the new one";
  EXPECT_THROW(array.fill(1, id), LockError);
}

TEST_F(LeaseTest, ReadLeaseIgnoresDiscard) {
  LeaseOptions const discarding{.timeout = 5s, .discard = true};
  std::optional<WriteLease<double, 2>> writer(array);
  std::thread ender([&] {
    std::this_thread::sleep_for(20ms);
    writer.reset();
  });
  // The lock is not free at the first attempt, so the lease waits.
  ReadLease const waited(array, discarding);
  ender.join();
  ReadLease const second(array, discarding);
  EXPECT_EQ(array.get_lock_id(), -1) << "held for reading, by two";
  EXPECT_THROW(array.fill(1), LockError);
}

TEST_F(LeaseTest, MovedLeaseKeepsHold) {
  std::optional<WriteLease<double, 2>> first(array);
  std::int64_t const id = first->lock_id();
  WriteLease second = std::move(*first);
  first.reset();
  EXPECT_EQ(second.lock_id(), id);
  EXPECT_EQ(array.get_lock_id(), id);
  WriteLease third = std::move(second);
  EXPECT_THROW(static_cast<void>(second.ptr()), LockError);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(second.lock_id(), -1);
  second.close();
  EXPECT_TRUE(third.is_open());
}

TEST_F(LeaseTest, CoreCanBeEnteredOnlyOnce) {
  for (auto const kind : {LeaseCore::Kind::read, LeaseCore::Kind::write}) {
    LeaseCore lease(array.state_ptr(), kind, {});
    EXPECT_FALSE(lease.is_open());
    EXPECT_NE(message_of<LockError>([&] { static_cast<void>(lease.add_export()); }).find("not open yet"),
              std::string::npos);
    EXPECT_THROW(static_cast<void>(detail::export_versioned(lease)), LockError);
    EXPECT_THROW(static_cast<void>(detail::export_versioned(lease, {.copy = true})), LockError);
    EXPECT_THROW(static_cast<void>(lease.block()), LockError);
    EXPECT_THROW(static_cast<void>(lease.pin()), LockError);
    lease.exit();  // harmless before `enter`
    lease.enter();
    EXPECT_TRUE(lease.is_open());
    EXPECT_NE(message_of<LockError>([&] { lease.enter(); }).find("open already"), std::string::npos);
    EXPECT_TRUE(lease.is_open()) << "the refused second opening must not close it";
    lease.exit();
    lease.exit();
    EXPECT_NE(message_of<LockError>([&] { lease.enter(); }).find("over"), std::string::npos);
    EXPECT_NE(message_of<LockError>([&] { static_cast<void>(lease.add_export()); }).find("over"), std::string::npos);
    EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
  }
}

TEST_F(LeaseTest, RefusedLeaseStaysClosedAndMayRetry) {
  LeaseCore lease(array.state_ptr(), LeaseCore::Kind::write, {});
  {
    ReadLease const reader(array);
    EXPECT_THROW(lease.enter(), LockError);
    EXPECT_FALSE(lease.is_open());
    EXPECT_EQ(lease.lock_id(), -1);
  }
  lease.enter();
  EXPECT_TRUE(lease.is_open());
}

TEST_F(LeaseTest, RefusalDescribesHolder) {
  {
    ReadLease const one(array);
    ReadLease const two(array);
    auto const words = message_of<LockError>([&] { WriteLease const lease(array); });
    EXPECT_NE(words.find("a write lease"), std::string::npos) << words;
    EXPECT_NE(words.find("MemArray<float64, 2> of shape (3, 4)"), std::string::npos) << words;
    EXPECT_NE(words.find("for reading by 2 leases"), std::string::npos) << words;
  }
  {
    WriteLease const one(array);
    auto const words = message_of<LockError>([&] { ReadLease const lease(array); });
    EXPECT_NE(words.find("leased for writing (lock id " + std::to_string(one.lock_id()) + ")"), std::string::npos)
        << words;
  }
  array.enter(17);
  auto const words = message_of<LockError>([&] { ReadLease const lease(array); });
  EXPECT_NE(words.find("lock id 17"), std::string::npos) << words;
  EXPECT_NE(words.find("exit()"), std::string::npos) << words;
  array.exit();
}

TEST_F(LeaseTest, WaitsForGivenTimeout) {
  std::optional<WriteLease<double, 2>> holder(array);
  auto const start = std::chrono::steady_clock::now();
  EXPECT_THROW(ReadLease(array, {.timeout = 50ms}), LockError);
  EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
  std::thread later([&] {
    std::this_thread::sleep_for(30ms);
    holder.reset();
  });
  ReadLease<double, 2> const lease(array, {.timeout = std::nullopt});
  EXPECT_TRUE(lease.is_open());
  later.join();
}

TEST_F(LeaseTest, LeaseKeepsMemoryOfDestroyedArrayAlive) {
  std::optional<MemArray<double, 2>> owner(std::in_place, MemArray<double, 2>::Shape{2, 2});
  owner->fill(5);
  ReadLease lease(*owner);
  View<double> view(owner->get_dlpack_tensor(true));
  owner.reset();
  EXPECT_EQ(lease.ptr()[3], 5) << "the array is gone, its lease is good";
  lease.close();
  EXPECT_EQ(view.data()[3], 5);
  view.drop();
}

TEST_F(LeaseTest, FollowsContentsThroughMovesAndSwaps) {
  array.fill(1);
  MemArray<double, 2> other({3, 4});
  other.fill(2);
  WriteLease const lease(array);
  double const* const memory = lease.ptr();
  array.swap(other);
  EXPECT_EQ(array.get_lock_id(), -1);
  EXPECT_EQ(other.get_lock_id(), lease.lock_id());
  array.fill(3);
  EXPECT_EQ(lease.ptr(), memory);
  EXPECT_EQ(lease.ptr()[0], 1);
  MemArray<double, 2> const third = std::move(other);
  EXPECT_EQ(third.get_lock_id(), lease.lock_id());
  EXPECT_EQ(third({0, 0}, lease.lock_id()), 1);
}

TEST_F(LeaseTest, LeaseKeepsOldContentsAfterAssignmentToArray) {
  array.fill(1);
  MemArray<double, 2> other({3, 4});
  other.fill(2);
  WriteLease lease(array);
  array = other;
  EXPECT_EQ(array.get_lock_id(), -1) << "the new contents have no lease";
  EXPECT_EQ(array({0, 0}), 2);
  EXPECT_EQ(lease.ptr()[0], 1);
  lease.ptr()[0] = 9;
  EXPECT_EQ(array({0, 0}), 2);
  ReadLease const second(array);
  array = MemArray<double, 2>({1, 1});
  EXPECT_EQ(second.ptr()[0], 2);
}

TEST_F(LeaseTest, MayBeReleasedOnAnotherThread) {
  auto lease = std::make_unique<WriteLease<double, 2>>(array);
  std::thread([&] { lease.reset(); }).join();
  EXPECT_EQ(array.get_lock_id(), -1);
  array.fill(1);
}

TEST_F(LeaseTest, DiscardUnderEscapedViewTakesNewMemoryWithoutCopy) {
  array.fill(4);
  View<double> const view = escaped_read_only(array);
  WriteLease const lease(array, {.discard = true});
  EXPECT_NE(reinterpret_cast<std::byte const*>(lease.ptr()), reinterpret_cast<std::byte const*>(view.data()));
  for (int i = 0; i < 12; ++i) lease.ptr()[i] = 8;
  EXPECT_EQ(view.copy(), std::vector<double>(12, 4.0));
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(versions(), 1);
}

TEST_F(LeaseTest, WithoutViewsDiscardWritesInPlace) {
  std::byte const* const before = memory_of(array);
  WriteLease const lease(array, {.discard = true});
  EXPECT_EQ(reinterpret_cast<std::byte const*>(lease.ptr()), before);
  EXPECT_EQ(versions(), 0);
}

TEST_F(LeaseTest, PinnedLeaseCountsAsOneExportUntilDestroyed) {
  array.fill(1);
  std::optional<LeaseCore> lease;
  lease.emplace(array.state_ptr(), LeaseCore::Kind::read, LeaseOptions{});
  lease->enter();
  detail::Block const& block = lease->pin();
  static_cast<void>(lease->pin());
  EXPECT_EQ(block.exports().total(), 1U) << "it is one export, however often it was read";
  lease->exit();
  EXPECT_THROW(static_cast<void>(lease->pin()), LockError);
  auto const* const memory = reinterpret_cast<double const*>(block.data());
  array.fill(2);
  EXPECT_EQ(memory[0], 1);
  lease.reset();
  EXPECT_EQ(copies(), 0);
}

TEST_F(LeaseTest, MissingDeviceIsRefusedAndNoLockIsHeld) {
  Device const missing{kDLCUDA, 77};
  EXPECT_THROW(ReadLease(array, {.device = missing}), CudaError);
  EXPECT_THROW(WriteLease(array, {.device = missing}), CudaError);
  EXPECT_THROW(WriteLease(array, {.device = Device{kDLMetal, 0}}), ValueError);
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
  EXPECT_TRUE(ReadLease(array, {.device = Device{kDLCPU, 0}}).is_open());
}

TEST_F(LeaseTest, OutOfMemoryWhileOpeningLeavesArrayUnchanged) {
  FailingResource::Control memory;
  MemArray<double, 1> small({8}, 0, {.resource = FailingResource(memory)});
  count_up(small);
  auto const before = contents(small);
  View<double> view = escaped_read_only(small);
  memory.until_failure = 0;
  EXPECT_THROW(WriteLease{small}, OutOfMemoryError);
  EXPECT_THROW(WriteLease(small, {.discard = true}), OutOfMemoryError);
  EXPECT_EQ(small.state().lock().word().load(), detail::LockWord::free);
  EXPECT_EQ(contents(small), before);
  EXPECT_EQ(small({3}), 3);
  view.drop();
  EXPECT_TRUE(WriteLease{small}.is_open()) << "without views no memory is needed";
}

}  // namespace
}  // namespace memarray::test
