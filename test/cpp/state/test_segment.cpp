// The lock and the counts in the segment, as left by exited and hostile processes and by reused pids.

#include "state/segment.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "shared_test.hpp"

namespace memarray::test {
namespace {

using detail::ProcessStamp;
using detail::Segment;
using detail::SegmentHeader;
using detail::SegmentSlot;
using detail::stamp_of;
using detail::this_process;
using ::testing::HasSubstr;

using Array = MemArray<float, 1>;
using Read = ReadLease<float, 1>;
using Write = WriteLease<float, 1>;

constexpr std::uint64_t claimed = std::uint64_t{1} << 24;
constexpr std::uint64_t held = std::uint64_t{2} << 24;

class SegmentTest : public ArrayTest {
 protected:
  SegmentTest() : file(shared_bytes<float, 1>({8})), raw(file.map()), a(create_shared<float, 1>(file.map(), {8})) {}

  [[nodiscard]] SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(raw.bytes.data()); }
  /// Returns the stamp of an exited process with this process's pid and a different start time.
  [[nodiscard]] static ProcessStamp former() { return this_process() ^ 1; }
  /// Returns the slot that an exited process left.
  SegmentSlot& left_by_the_dead(std::uint32_t at = 1) const {
    SegmentSlot& slot = header().slot[at];
    slot.owner = former();
    header().used = std::max(header().used.load(), at + 1);
    return slot;
  }
  [[nodiscard]] static std::uint64_t word(std::uint64_t state, std::uint32_t slot) { return state | (slot + 1); }

  SharedFile file;
  SharedMemory raw;
  Array a;
};

TEST_F(SegmentTest, WordAndSlotRecordHolderReadersAndExports) {
  EXPECT_EQ(header().slot[0].owner, this_process());
  EXPECT_EQ(header().used, 1U);
  std::uint64_t const free = header().word;
  EXPECT_EQ(free & 0xffffffff, 0U);
  {
    Write const lease(a);
    EXPECT_EQ(header().word & 0xffffffff, word(held, 0));
    EXPECT_EQ(header().slot[0].lock_id, lease.lock_id());
  }
  EXPECT_EQ(header().word & 0xffffffff, 0U);
  EXPECT_GT(header().word.load(), free) << "so that one hold is never taken for another";
  {
    Read const one(a);
    Read const two(a);
    EXPECT_EQ(header().slot[0].readers, 2U);
  }
  EXPECT_EQ(header().slot[0].readers, 0U);
  {
    View<float> const view(a.get_dlpack_tensor(true));
    EXPECT_EQ(header().slot[0].exports, 1U);
  }
  EXPECT_EQ(header().slot[0].exports, 0U);
}

TEST_F(SegmentTest, ReusedPidIsNotMistakenForHolder) {
  left_by_the_dead();
  header().word = word(held, 1);
  EXPECT_THAT(message_of<LockError>([&] { Read{a}; }), HasSubstr("exited while it held it for writing"));
  std::vector<Death> const deaths = recover(a);
  ASSERT_EQ(deaths.size(), 1U);
  EXPECT_EQ(deaths[0].pid, ::getpid());
  Write const free(a);
}

TEST_F(SegmentTest, ReadersOfExitedProcessWithReusedPidAreCleared) {
  left_by_the_dead().readers = 3;
  {
    Write const lease(a);
  }
  EXPECT_EQ(header().slot[1].readers, 0U);
  EXPECT_EQ(header().slot[1].owner, 0U);
}

TEST_F(SegmentTest, ClaimOfExitedProcessIsIgnored) {
  left_by_the_dead();
  header().word = word(claimed, 1);
  {
    Read const lease(a);
  }
  header().word = word(claimed, 1);
  {
    Write const lease(a);
  }
  header().word = word(claimed, 1);
  EXPECT_EQ(recover(a).size(), 0U) << "the process did not hold it yet";
  {
    Write const lease(a);
  }
}

TEST_F(SegmentTest, WaitingWriterThatExitedDoesNotBlockReaders) {
  SegmentSlot& slot = left_by_the_dead();
  slot.waits = 1;
  header().waiting = 2;
  {
    Read const lease(a);
  }
  EXPECT_EQ(header().waiting, 0U);
  // A slot that another process has taken over does not block readers either.
  slot.owner = this_process();
  slot.waits = 0;
  header().waiting = 2;
  {
    Read const lease(a);
  }
  EXPECT_EQ(header().waiting, 0U);
  slot.owner = 0;
}

TEST_F(SegmentTest, SlotsOfExitedProcessesAreReusedUnlessTheyHoldTheLock) {
  for (std::uint32_t at = 1; at < SegmentHeader::slot_count; ++at) left_by_the_dead(at);
  header().slot[5].readers = 2;
  header().slot[6].exports = 1;
  header().word = word(held, 9);
  std::vector<Array> arrays;
  for (std::uint32_t i = 0; i < SegmentHeader::slot_count - 2; ++i)
    arrays.push_back(attach_shared<float, 1>(file.map()));
  EXPECT_THROW(static_cast<void>(attach_shared<float, 1>(file.map())), Error);
  EXPECT_EQ(header().slot[9].owner, former());
  EXPECT_EQ(header().slot[5].readers, 0U);
  EXPECT_EQ(header().slot[6].exports, 0U);
  ASSERT_EQ(recover(arrays.back()).size(), 1U);
  Array const last = attach_shared<float, 1>(file.map());
  Write const free(a);
}

TEST_F(SegmentTest, RecoveryAdvancesClaimCount) {
  left_by_the_dead();
  header().word = word(held, 1) | std::uint64_t{41} << 32;
  ASSERT_EQ(recover(a).size(), 1U);
  EXPECT_GT(header().word.load() >> 32, 41U);
}

// Other processes may write any value at any time.
TEST_F(SegmentTest, InvalidLockWordIsRefusedAndRecovered) {
  std::uint64_t const nonsense[] = {held,       held | 251, held | 0xffffff, word(std::uint64_t{7} << 24, 0),
                                    UINT64_MAX, held | 100};
  for (std::uint64_t const word : nonsense) {
    header().word = word;
    EXPECT_THROW(Read{a}, LockError) << word;
    EXPECT_THROW(Write(a, {.timeout = std::nullopt}), LockError) << word;
    EXPECT_THROW(static_cast<void>(a({0})), LockError) << word;
    static_cast<void>(a.get_lock_id());
    EXPECT_EQ(recover(a).size(), 1U) << word;
    Write const free(a);
  }
  for (std::uint32_t const number : {251U, 0xffffffU, UINT32_MAX}) {
    header().waiting = number;
    Read const lease(a);
  }
  header().used = UINT32_MAX;
  {
    Write const lease(a);
  }
}

TEST_F(SegmentTest, RandomBytesInSharedHeaderNeverCrash) {
  std::mt19937_64 random(20261123);
  constexpr std::size_t first = offsetof(SegmentHeader, word);
  std::vector<std::byte> const good(raw.bytes.begin(), raw.bytes.begin() + sizeof(SegmentHeader));
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 40; ++i) {
      std::size_t const at = first + random() % (round % 2 == 0 ? 256 : sizeof(SegmentHeader) - first);
      raw.bytes[at] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    }
    for (int operation = 0; operation < 4; ++operation) {
      try {
        if (operation == 0) Read{a};
        if (operation == 1) Write{a};
        if (operation == 2) View<float>(a.get_dlpack_tensor(true)).drop();
        if (operation == 3) static_cast<void>(recover(a));
      } catch (LockError const&) {
      }
    }
    std::memcpy(raw.bytes.data() + first, good.data() + first, good.size() - first);
  }
  Write const free(a);
}

TEST_F(SegmentTest, ConcurrentAttachAndDetachLeaveNoUsedSlots) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this] {
      for (int round = 0; round < 100; ++round) {
        Array mine = attach_shared<float, 1>(file.map());
        Write const lease(mine, {.timeout = std::nullopt});
        lease.ptr()[0] += 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a({0}), 400);
  for (std::uint32_t at = 1; at < SegmentHeader::slot_count; ++at) EXPECT_EQ(header().slot[at].owner, 0U);
  EXPECT_LE(header().used, 5U);
}

}  // namespace
}  // namespace memarray::test
