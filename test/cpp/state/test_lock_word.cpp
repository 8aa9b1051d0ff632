#include <memarray/detail/state/lock_word.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

using detail::LockWord;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Longer than any wait that a test expects to end.
constexpr std::chrono::nanoseconds ages = 30s;

TEST(LockWordTest, ReportsReadersAndWriter) {
  LockWord word;
  EXPECT_EQ(word.load(), LockWord::free);
  ASSERT_TRUE(word.try_lock_shared());
  ASSERT_TRUE(word.try_lock_shared());
  EXPECT_EQ(LockWord::readers(word.load()), 2);
  EXPECT_FALSE(LockWord::is_writer(word.load()));
  word.unlock_shared();
  word.unlock_shared();
  EXPECT_EQ(word.load(), LockWord::free);
  ASSERT_TRUE(word.try_lock_exclusive(0));
  EXPECT_EQ(word.load(), 0);
  EXPECT_TRUE(LockWord::is_writer(word.load()));
  EXPECT_EQ(LockWord::readers(word.load()), 0);
  word.unlock_exclusive();
  EXPECT_EQ(word.load(), LockWord::free);
}

TEST(LockWordTest, WriterExcludesReadersAndWriters) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_exclusive(7));
  EXPECT_FALSE(word.try_lock_shared());
  EXPECT_FALSE(word.try_lock_shared(true));
  EXPECT_FALSE(word.try_lock_exclusive(7)) << "also one with the same id";
  EXPECT_FALSE(word.lock_exclusive(8, no_wait));
  EXPECT_FALSE(word.lock_shared(no_wait));
  EXPECT_EQ(word.load(), 7);
  word.unlock_exclusive();
}

TEST(LockWordTest, ReaderExcludesOnlyWriters) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_shared());
  EXPECT_FALSE(word.try_lock_exclusive(1));
  EXPECT_TRUE(word.try_lock_shared());
  word.unlock_shared();
  EXPECT_FALSE(word.try_lock_exclusive(1)) << "one reader is left";
  word.unlock_shared();
  EXPECT_TRUE(word.try_lock_exclusive(1));
  word.unlock_exclusive();
}

TEST(LockWordTest, DowngradeTurnsWriterIntoReader) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_exclusive(1));
  word.downgrade();
  EXPECT_EQ(LockWord::readers(word.load()), 1);
  EXPECT_FALSE(word.try_lock_exclusive(2));
  word.unlock_shared();
  EXPECT_EQ(word.load(), LockWord::free);
}

TEST(LockWordTest, WaitEndsAtTimeoutAndNotEarlier) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_shared());
  auto const start = Clock::now();
  EXPECT_FALSE(word.lock_exclusive(1, 60ms));
  auto const waited = Clock::now() - start;
  EXPECT_GE(waited, 60ms);
  EXPECT_LT(waited, 5s);
  EXPECT_FALSE(word.lock_exclusive(1, -1s)) << "the past is at once";
  EXPECT_FALSE(word.writer_waits()) << "a writer that gave up still holds readers back";
  EXPECT_TRUE(word.try_lock_shared());
  word.unlock_shared();
  word.unlock_shared();
}

TEST(LockWordTest, ZeroTimeoutDoesNotSleep) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_exclusive(1));
  auto const start = Clock::now();
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(word.lock_shared(no_wait));
  EXPECT_LT(Clock::now() - start, 2s);
  word.unlock_exclusive();
}

TEST(LockWordTest, TimeoutBeyondClockRangeIsUnlimited) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_exclusive(1));
  std::thread holder([&] {
    std::this_thread::sleep_for(30ms);
    word.unlock_exclusive();
  });
  EXPECT_TRUE(word.lock_shared(std::chrono::nanoseconds::max()));
  holder.join();
  word.unlock_shared();
}

TEST(LockWordTest, WaitersAreWokenNotPolled) {
  // If each waiter slept through its whole time slice, 30 hand-overs would take 0.6 s.
  LockWord word;
  std::atomic<int> turn{0};
  auto const start = Clock::now();
  auto const play = [&](int me) {
    for (int i = 0; i < 15; ++i) {
      while (turn % 2 != me) std::this_thread::sleep_for(1ms);
      ASSERT_TRUE(word.lock_exclusive(me, ages));
      ++turn;
      std::this_thread::sleep_for(2ms);
      word.unlock_exclusive();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(turn, 30);
}

TEST(LockWordTest, WaitingWriterBlocksNewReadersButNotCurrentOnes) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_shared());
  std::thread writer([&] {
    ASSERT_TRUE(word.lock_exclusive(1, std::nullopt));
    word.unlock_exclusive();
  });
  while (!word.writer_waits()) std::this_thread::yield();
  EXPECT_FALSE(word.lock_shared(no_wait));
  EXPECT_FALSE(word.lock_shared(20ms));
  EXPECT_TRUE(word.lock_shared(no_wait, true)) << "waiting for the writer here would wait for oneself";
  word.unlock_shared();
  word.unlock_shared();
  writer.join();
  EXPECT_EQ(word.load(), LockWord::free);
}

TEST(LockWordTest, ReadersProceedWhenWaitingWriterTimesOut) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_shared());
  std::thread writer([&] { EXPECT_FALSE(word.lock_exclusive(1, 100ms)); });
  while (!word.writer_waits()) std::this_thread::yield();
  auto const start = Clock::now();
  EXPECT_TRUE(word.lock_shared(ages));
  EXPECT_LT(Clock::now() - start, 10s);
  writer.join();
  word.unlock_shared();
  word.unlock_shared();
}

TEST(LockWordTest, ReadersWaitForRelocatingReaderRegardlessOfTimeout) {
  LockWord word;
  ASSERT_TRUE(word.try_lock_exclusive(LockWord::relocating));
  EXPECT_FALSE(word.lock_exclusive(1, no_wait)) << "writers do not";
  std::thread relocator([&] {
    std::this_thread::sleep_for(30ms);
    word.downgrade();
  });
  EXPECT_TRUE(word.lock_shared(no_wait));
  relocator.join();
  EXPECT_EQ(LockWord::readers(word.load()), 2);
  word.unlock_shared();
  word.unlock_shared();
}

TEST(LockWordTest, ContinuousReadersDoNotStarveWriter) {
  LockWord word;
  std::atomic<bool> stop{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> readers;
  for (int r = 0; r < 4; ++r)
    readers.emplace_back([&] {
      while (!stop) {
        if (!word.lock_shared(ages)) break;
        ++inside;
        std::this_thread::sleep_for(1ms);  // so that nearly always a reader is inside
        --inside;
        word.unlock_shared();
      }
    });
  while (inside == 0) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(word.lock_exclusive(1, ages));
    EXPECT_EQ(inside, 0);
    word.unlock_exclusive();
    std::this_thread::sleep_for(2ms);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

// The lock orders plain memory accesses. TSan reports a missing edge as a race, and the counts reveal lost updates.
TEST(LockWordTest, OrdersPlainMemoryAccesses) {
  LockWord word;
  std::int64_t value = 0;
  std::int64_t twin = 0;
  std::atomic<std::int64_t> torn{0};
  constexpr int rounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        if (t % 2 == 0) {
          if (!word.lock_exclusive(t, std::nullopt)) continue;
          ++value;
          ++twin;
          word.unlock_exclusive();
        } else {
          if (!word.lock_shared(std::nullopt)) continue;
          if (value != twin) ++torn;
          word.unlock_shared();
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(value, 2 * rounds);
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(word.load(), LockWord::free);
}

}  // namespace
}  // namespace memarray::test
