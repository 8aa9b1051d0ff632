// A reader that relocates an array under escaped views may have to wait for the interpreter lock before it can finish.
// A thread that holds the interpreter lock must release it while it waits for that reader.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <memarray/base/hooks.hpp>
#include <memarray/memarray.hpp>

namespace {

using memarray::MemArray;

// Stands for the interpreter lock.
struct Interpreter {
  std::timed_mutex lock;
  std::atomic<std::thread::id> owner{};
  std::atomic<bool> is_released{false};
  std::atomic<bool> wanted_by_other{false};
};
Interpreter* interpreter = nullptr;

void acquire() {
  interpreter->lock.lock();
  interpreter->owner = std::this_thread::get_id();
}

void* release() noexcept {
  if (!interpreter || interpreter->owner != std::this_thread::get_id()) return nullptr;
  interpreter->owner = std::thread::id();
  interpreter->is_released = true;
  interpreter->lock.unlock();
  return interpreter;
}

void reacquire(void*) noexcept {
  // The relocating reader returns only after the other thread has acquired the lock.
  while (!interpreter->wanted_by_other) std::this_thread::yield();
  acquire();
}

bool poll(void*&) noexcept { return true; }

struct HooksForTheTest {
  HooksForTheTest() : before(memarray::hooks()) {
    memarray::set_hooks({.release = release, .reacquire = reacquire, .poll_signals = poll});
  }
  ~HooksForTheTest() { memarray::set_hooks(before); }
  memarray::Hooks before;
};

TEST(RelocatingReaderTest, ElementAccessReleasesInterpreterLock) {
  // Leaked if the test fails, because the threads then wait on it for ever.
  auto* const here = new Interpreter;
  interpreter = here;
  HooksForTheTest const hooks;
  MemArray<double, 1> array({1 << 16});  // large enough for its copy to release the interpreter lock
  array.fill(3);
  memarray::DLPackTensor kept;
  {
    memarray::WriteLease lease(array);
    kept = array.get_dlpack_tensor(true, lease.lock_id());
  }

  std::promise<double> element;
  auto read = element.get_future();
  std::thread relocates([&] {
    acquire();
    memarray::ReadLease const lease(array);
    release();
  });
  std::thread looks([&] {
    while (!here->is_released) std::this_thread::yield();
    acquire();
    here->wanted_by_other = true;
    element.set_value(array({7}));
    release();
  });
  bool const ended = read.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(ended)
      << "one thread waits for the array with the interpreter lock, the other for that lock with the array";
  if (!ended) std::abort();
  EXPECT_EQ(read.get(), 3);
  relocates.join();
  looks.join();
  interpreter = nullptr;
  delete here;
}

std::atomic<bool> copying{false};
std::atomic<bool> may_go_on{false};

TEST(RelocatingReaderTest, ChildDoesNotWaitForReaderOfParent) {
  copying = may_go_on = false;
  HooksForTheTest const hooks;
  memarray::set_hooks({.release = []() noexcept -> void* {
                         if (copying.exchange(true)) return nullptr;
                         while (!may_go_on) std::this_thread::yield();
                         return nullptr;
                       },
                       .reacquire = {},
                       .poll_signals = {}});
  MemArray<double, 1> array({1 << 16});
  memarray::DLPackTensor kept;
  {
    memarray::WriteLease lease(array);
    kept = array.get_dlpack_tensor(true, lease.lock_id());
  }
  std::thread relocates([&] { memarray::ReadLease const lease(array); });
  while (!copying) std::this_thread::yield();
  pid_t const child = fork();
  if (child == 0) {
    alarm(20);
    int refused = 0;
    try {
      memarray::ReadLease const lease(array);
    } catch (memarray::LockError const& error) {
      refused += std::string_view(error.what()).find("fork") != std::string_view::npos;
    }
    try {
      static_cast<void>(array({7}));
    } catch (memarray::LockError const&) {
      ++refused;
    }
    _exit(refused);
  }
  may_go_on = true;
  relocates.join();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "the child waited for a thread of its parent";
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

TEST(RelocatingReaderTest, ReadersNeverRefuseEachOther) {
  MemArray<double, 1> array({64});
  constexpr int rounds = 20'000;
  constexpr int readers = 2;
  std::barrier phase(readers);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int reader = 0; reader < readers; ++reader)
    threads.emplace_back([&, reader] {
      for (int round = 0; round < rounds; ++round) {
        memarray::DLPackTensor kept;
        if (reader == 0) {
          memarray::WriteLease lease(array);
          kept = array.get_dlpack_tensor(true, lease.lock_id());
        }
        phase.arrive_and_wait();
        try {
          memarray::ReadLease const lease(array);
          static_cast<void>(array({7}));
        } catch (memarray::LockError const&) {
          ++refused;
        }
        phase.arrive_and_wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
