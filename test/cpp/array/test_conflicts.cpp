// Under each kind of hold, every write is refused, names the holder, and changes nothing.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "array_test.hpp"
#include "operations.hpp"

namespace memarray::test {
namespace {

using namespace operations;

class ConflictsTest : public ArrayTest {
 protected:
  ConflictsTest() {
    count_up(array);
    before = contents(array);
    memory = memory_of(array);
  }

  void expect_unchanged(std::string const& name) {
    EXPECT_EQ(contents(array), before) << name;
    EXPECT_EQ(memory_of(array), memory) << name;
    EXPECT_EQ(array.get_shape(), (std::array<std::int64_t, 2>{3, 4})) << name;
    EXPECT_FALSE(array.get_on_device()) << name;
  }

  void expect_refused(std::vector<Operation> const& operations, std::string const& holder) {
    std::int64_t const word = array.state().lock().word().load();
    for (Operation const& operation : operations) {
      auto const words = message_of<LockError>([&] { operation.run(array); });
      EXPECT_NE(words.find(holder), std::string::npos) << operation.name << ": " << words;
      EXPECT_EQ(array.state().lock().word().load(), word) << operation.name;
      expect_unchanged(operation.name);
    }
    EXPECT_EQ(copies(), 0);
  }

  void expect_passes(std::vector<Operation> const& operations) {
    for (Operation const& operation : operations) {
      EXPECT_NO_THROW(operation.run(array)) << operation.name;
      expect_unchanged(operation.name);
    }
  }

  Array array{{3, 4}};
  std::vector<float> before;
  std::byte const* memory = nullptr;
};

// Guards against a matrix that passes because everything is always refused.
TEST_F(ConflictsTest, NothingIsRefusedOnAFreeArray) {
  expect_passes(reads());
  expect_passes(neutral());
  for (Operation const& operation : writes()) {
    Array free(operation.shape);
    if (std::string(operation.name) == "move_memory elsewhere") {
      EXPECT_THROW(operation.run(free), CudaError);
    } else if (std::string(operation.name) == "get_dlpack_tensor, writable") {
      EXPECT_THROW(operation.run(free), LockError) << "no lease has its id";
    } else {
      EXPECT_NO_THROW(operation.run(free)) << operation.name;
    }
    if (std::string(operation.name) == "enter") free.exit();
    EXPECT_EQ(free.state().lock().word().load(), detail::LockWord::free) << operation.name;
  }
}

TEST_F(ConflictsTest, WritesAreRefusedAndReadsPassUnderReadLease) {
  ReadLease const lease(array);
  expect_refused(writes(), "leased for reading by 1 lease");
  expect_passes(reads());
  expect_passes(neutral());
}

TEST_F(ConflictsTest, EachReadAndWriteIsRefusedUnderWriteLease) {
  WriteLease const lease(array);
  expect_refused(writes(), "leased for writing");
  expect_refused(reads(), "leased for writing");
  expect_passes(neutral());
}

TEST_F(ConflictsTest, EachReadAndWriteIsRefusedAfterEnter) {
  array.enter(3);
  expect_refused(writes(), "lock id 3");
  expect_refused(reads(), "lock id 3");
  expect_passes(neutral());
  array.exit();
}

TEST_F(ConflictsTest, EachReadAndWriteIsRefusedWhileKernelWrites) {
  std::atomic<bool> first{true};
  for_each_index(array, default_stream(), [&](float&, auto const&) {
    if (!first.exchange(false)) return;
    expect_refused(writes(), "an operation of memarray");
    expect_refused(reads(), "an operation of memarray");
    expect_passes(neutral());
  });
  EXPECT_FALSE(first);
}

TEST_F(ConflictsTest, WritesAreRefusedAndReadsPassWhileKernelReads) {
  std::atomic<bool> first{true};
  for_each_index(
      {3, 4}, default_stream(),
      [&](auto const&, auto) {
        if (!first.exchange(false)) return;
        expect_refused(writes(), "for reading");
        expect_passes(reads());
        expect_passes(neutral());
      },
      read(array));
}

// A write lease's id permits access to elements, pointers and kernels. It does not permit move, resize, enter or
// exchange, which would change the leased memory itself.
TEST_F(ConflictsTest, LockIdAdmitsAccessButNotMoveResizeOrExchange) {
  auto const as_holder = [this](std::int64_t id) {
    EXPECT_NO_THROW(array.throw_invalid_lock_access(id));
    array.write({0, 0}, 1, id);
    EXPECT_EQ(array({0, 0}, id), 1);
    *array.ptr(id) = 2;
    EXPECT_EQ(*std::as_const(array).ptr(id), 2);
    array.get_indexer(id)[{0, 0}] = 3;
    EXPECT_EQ((std::as_const(array).get_indexer(id)[{0, 0}]), 3);
    EXPECT_EQ(array.host_view(id).extent(1), 4);
    array.fill(4, id);
    EXPECT_EQ(sum(array, default_stream(), id), 48);
    for_each_index(array, default_stream(), [](float& e, auto const&) { e += 1; }, id);
    for_each_index({3, 4}, default_stream(), [](auto const&, float& e) { e += 1; }, update(array, id));
    for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { x[i] += 1; }, write(array, id));
    EXPECT_EQ(array({2, 3}, id), 7);
    for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { x[i] = 5; }, overwrite(array, id));
    for_each_index({3, 4}, default_stream(), [](auto const& i, auto x) { EXPECT_EQ(x[i], 5); }, read(array, id));
    EXPECT_EQ(array.get_dlpack_tensor(true, id).flags(), 0U);
    EXPECT_EQ(array.get_lock_id(), id);
    for_each_index(
        {1}, default_stream(), [&](auto const&, auto) { EXPECT_EQ(array.get_lock_id(), id); }, write(array, id));
    auto const inside = contents(array);
    EXPECT_THROW(array.move_memory(kDLCPU, 0, 0, id), LockError);
    EXPECT_THROW(array.move_memory(kDLCUDA, 0, 0, id), LockError);
    EXPECT_THROW(array.resize({3, 4}), LockError);
    EXPECT_THROW(array.enter(id < 100 ? id : 5), LockError);
    Array other({3, 4});
    EXPECT_THROW(array.exchange(other), LockError);
    EXPECT_EQ(contents(array), inside);
    EXPECT_EQ(memory_of(array), memory);
  };
  {
    WriteLease const lease(array);
    as_holder(lease.lock_id());
    for (std::int64_t const wrong : {std::int64_t{0}, lease.lock_id() + 1, lease.lock_id() - 1, INT64_MAX}) {
      EXPECT_THROW(array.write({0, 0}, 9, wrong), LockError);
      EXPECT_THROW(static_cast<void>(array({0, 0}, wrong)), LockError);
      EXPECT_THROW(array.fill(9, wrong), LockError);
      EXPECT_THROW(static_cast<void>(array.get_dlpack_tensor(true, wrong)), LockError);
    }
    EXPECT_EQ(array({0, 0}, lease.lock_id()), 5);
  }
  array.enter(0);
  as_holder(0);
  array.exit();
}

TEST_F(ConflictsTest, IdOfClosedLeaseIsRefusedOnFreeArray) {
  std::int64_t id = -1;
  {
    WriteLease const lease(array);
    id = lease.lock_id();
  }
  EXPECT_NE(message_of<LockError>([&] { array.write({0, 0}, 9, id); }).find("is over"), std::string::npos);
  EXPECT_THROW(static_cast<void>(array({0, 0}, id)), LockError);
  EXPECT_THROW(static_cast<void>(array.ptr(id)), LockError);
  EXPECT_THROW(array.fill(9, id), LockError);
  EXPECT_THROW(static_cast<void>(sum(array, default_stream(), id)), LockError);
  EXPECT_THROW(array.throw_invalid_lock_access(id), LockError);
  expect_unchanged("an old id");
}

// The ids under which the library itself holds arrays grant no access.
TEST_F(ConflictsTest, IdOfRunningOperationGrantsNoAccess) {
  for_each_index(
      {1}, default_stream(),
      [&](auto const&, auto) {
        std::int64_t const id = array.get_lock_id();
        EXPECT_THROW(array.write({0, 0}, 9, id), LockError);
        EXPECT_THROW(array.fill(9, id), LockError);
        EXPECT_THROW(static_cast<void>(array.get_dlpack_tensor(true, id)), LockError);
      },
      write(array));
  expect_unchanged("an operation's id");
}

TEST_F(ConflictsTest, EnterAcceptsCallerIdsAndExitEndsOnlyEnter) {
  for (std::int64_t const id : {std::int64_t{0}, std::int64_t{1}, (std::int64_t{1} << 62) - 1}) {
    array.enter(id);
    EXPECT_EQ(array.get_lock_id(), id);
    EXPECT_THROW(array.enter(id), LockError);
    EXPECT_THROW(array.enter(id + 1 < (std::int64_t{1} << 62) ? id + 1 : 0), LockError);
    array.exit();
    EXPECT_EQ(array.get_lock_id(), -1);
    array.exit();
  }
  EXPECT_THROW(array.enter(-1), ValueError);
  EXPECT_THROW(array.enter(INT64_MIN), ValueError);
  EXPECT_THROW(array.enter(std::int64_t{1} << 62), ValueError) << "those are the leases'";
  EXPECT_THROW(array.enter(INT64_MAX), ValueError);
  {
    WriteLease const lease(array);
    array.exit();
    EXPECT_EQ(array.get_lock_id(), lease.lock_id()) << "exit() ended a lease that enter() did not begin";
  }
  {
    ReadLease const lease(array);
    array.exit();
    EXPECT_THROW(array.fill(1), LockError);
  }
  array.enter(8);
  array.exit();
  WriteLease const lease(array);
  array.exit();
  EXPECT_TRUE(lease.is_open());
  EXPECT_EQ(array.get_lock_id(), lease.lock_id());
}

TEST_F(ConflictsTest, InvalidArgumentsAreRefusedAndChangeNothing) {
  EXPECT_THROW(array.move_memory(kDLMetal, 0, 0), ValueError);
  EXPECT_THROW(array.move_memory(kDLCPU, 0, -1), ValueError);
  EXPECT_THROW(array.move_memory(kDLCPU, -2, 0), ValueError);
  EXPECT_THROW(array.move_memory(kDLCUDA, 0, missing_device), CudaError);
  EXPECT_THROW(array.move_memory(kDLCUDA, 0, missing_device + 1), CudaError);
  EXPECT_THROW(array.resize({-1, 4}), ValueError);
  EXPECT_THROW(array.resize({std::int64_t{1} << 40, std::int64_t{1} << 40}), OverflowError);
  EXPECT_THROW(array.write({3, 0}, 1), IndexError);
  EXPECT_THROW(array.write({0, -1}, 1), IndexError);
  EXPECT_THROW(static_cast<void>(array({0, 4})), IndexError);
  EXPECT_NE(message_of<IndexError>([&] { array.write({0, 4}, 1); }).find("dimension 1"), std::string::npos);
  expect_unchanged("bad arguments");
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
}

TEST_F(ConflictsTest, OperationsShowNoLockId) {
  Array array({2, 3});
  std::int64_t seen = 0;
  for_each_index({1}, default_stream(), [&](auto const&, auto) { seen = array.get_lock_id(); }, write(array));
  EXPECT_EQ(seen, -1) << "the hold has no id that a caller may use";
  for_each_index(
      {1}, default_stream(),
      [&](auto const&, auto) {
        for (std::int64_t const id :
             {detail::LockWord::no_id, detail::LockWord::operation, detail::LockWord::relocating})
          EXPECT_THROW(array.write({0, 0}, 1, id), LockError);
      },
      write(array));
}

}  // namespace
}  // namespace memarray::test
