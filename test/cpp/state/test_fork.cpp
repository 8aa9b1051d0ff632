// After a fork, the child's only thread keeps its own leases. Leases of the parent's other threads stay, and refusals
// mention the fork.

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

class ForkTest : public ArrayTest {
 protected:
  /// Returns 0 if `run` returned true in a child.
  static int in_child(std::function<bool()> const& run) {
    pid_t const child = fork();
    if (child == 0) {
      ::alarm(60);
      bool good = false;
      try {
        good = run();
      } catch (...) {
      }
      ::_exit(good ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }
  MemArray<double, 1> array{{1 << 18}};
};

TEST_F(ForkTest, ArraysThreadsAndViewsWorkInTheChild) {
  for_each_index(array, default_stream(), [](double& e, auto const&) { e = 2; });  // starts the thread pool
  View<double> const view = escaped_read_only(array);
  EXPECT_EQ(in_child([&] {
              for_each_index(array, default_stream(), [](double& e, auto const&) { e += 1; });
              MemArray<double, 1> const fresh(array);
              return sum(array, default_stream()) == 3.0 * (1 << 18) && view.data()[7] == 2 && fresh({7}) == 3;
            }),
            0);
  EXPECT_EQ(array({7}), 2);
}

TEST_F(ForkTest, LeasesOfTheForkingThreadCarryOver) {
  auto lease = std::make_unique<WriteLease<double, 1>>(array);
  EXPECT_EQ(in_child([&] {
              lease->ptr()[0] = 5;
              array.write({1}, 6, lease->lock_id());
              lease.reset();
              array.fill(7);
              return array({0}) == 7;
            }),
            0);
  EXPECT_TRUE(lease->is_open());
  EXPECT_EQ(lease->ptr()[0], 0);
  lease.reset();
}

TEST_F(ForkTest, LeaseOfOtherThreadStaysHeldAndRefusalMentionsFork) {
  std::atomic<int> step{0};
  std::thread holder([&] {
    WriteLease<double, 1> const lease(array);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              try {
                array.fill(1);
              } catch (LockError const& error) {
                return std::string(error.what()).find("fork") != std::string::npos;
              }
              return false;
            }),
            0);
  step = 2;
  holder.join();
  array.fill(1);
}

/// Holds the array on a separate thread until it is destroyed.
template <class Lease>
class HeldElsewhere {
 public:
  explicit HeldElsewhere(MemArray<double, 1>& array) {
    std::atomic<bool> open{false};
    _thread = std::thread([&] {
      Lease const lease(array);
      open = true;
      open.notify_one();
      _done.wait(false);
    });
    open.wait(false);
  }
  ~HeldElsewhere() {
    _done = true;
    _done.notify_one();
    _thread.join();
  }
  HeldElsewhere(HeldElsewhere const&) = delete;
  HeldElsewhere& operator=(HeldElsewhere const&) = delete;

 private:
  std::atomic<bool> _done{false};
  std::thread _thread;
};
using WrittenElsewhere = HeldElsewhere<WriteLease<double, 1>>;
using ReadElsewhere = HeldElsewhere<ReadLease<double, 1>>;

/// True if `take` is refused at once because of the fork.
template <class Take>
bool is_refused_for_the_fork(Take const& take) {
  auto const start = std::chrono::steady_clock::now();
  try {
    take();
    return false;
  } catch (LockError const& error) {
    return std::string(error.what()).find("fork") != std::string::npos &&
           std::chrono::steady_clock::now() - start < std::chrono::seconds(10);
  }
}

LeaseOptions const forever{.timeout = std::nullopt};
LeaseOptions const long_time{.timeout = std::chrono::hours(1)};

TEST_F(ForkTest, ChildDoesNotWaitForWriterOfParent) {
  auto const holder = std::make_unique<WrittenElsewhere>(array);
  MemArray<double, 1> mine({4});
  EXPECT_EQ(in_child([&] {
              bool good = true;
              for (LeaseOptions const& options : {LeaseOptions(), forever, long_time}) {
                good = good && is_refused_for_the_fork([&] { ReadLease const lease(array, options); });
                good = good && is_refused_for_the_fork([&] { WriteLease const lease(array, options); });
                good = good && is_refused_for_the_fork(
                                   [&] { static_cast<void>(leases(options.timeout, read(array), write(mine))); });
                good = good && is_refused_for_the_fork(
                                   [&] { static_cast<void>(leases(options.timeout, write(mine), write(array))); });
              }
              WriteLease const lease(mine, forever);
              mine.write({1}, 3, lease.lock_id());
              return good && lease.ptr()[1] == 3;
            }),
            0);
}

TEST_F(ForkTest, ChildDoesNotWaitForReadersOfParent) {
  auto const first = std::make_unique<ReadElsewhere>(array);
  auto const second = std::make_unique<ReadElsewhere>(array);
  EXPECT_EQ(in_child([&] {
              bool good = true;
              for (LeaseOptions const& options : {LeaseOptions(), forever, long_time}) {
                good = good && is_refused_for_the_fork([&] { WriteLease const lease(array, options); });
                ReadLease const more(array, options);
                ReadLease const another(array, options);
                good = good && sum(array, default_stream()) == 0;
              }
              return good;
            }),
            0);
}

#if !defined(__SANITIZE_THREAD__)  // TSan cannot start threads in the child of a multithreaded process
TEST_F(ForkTest, ChildWaitsForOwnHoldsDespiteReadersLostInFork) {
  auto const lost = std::make_unique<ReadElsewhere>(array);
  MemArray<double, 1> other({4});
  EXPECT_EQ(
      in_child([&] {
        bool good = true;
        // A reader in the child blocks a writer. The writer is refused once only the lost reader is left.
        auto own = std::make_unique<ReadElsewhere>(array);
        std::thread writer([&] { good = is_refused_for_the_fork([&] { WriteLease const lease(array, forever); }); });
        while (!array.state().lock().word().writer_waits()) std::this_thread::yield();
        own.reset();
        writer.join();
        // A hold in the child on an array from before the fork, and a thread that waits for it.
        auto held = std::make_unique<WrittenElsewhere>(other);
        std::thread reader([&] {
          ReadLease const lease(other, forever);
          good = good && lease.is_open();
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        held.reset();
        reader.join();
        auto shared = std::make_unique<ReadElsewhere>(other);
        std::thread late([&] { WriteLease const lease(other, forever); });
        while (!other.state().lock().word().writer_waits()) std::this_thread::yield();
        shared.reset();
        late.join();
        return good;
      }),
      0);
}

TEST_F(ForkTest, ChildWaitsNormallyAfterReleasingInheritedHolds) {
  auto written = std::make_unique<WriteLease<double, 1>>(array);
  MemArray<double, 1> other({4});
  auto read = std::make_unique<ReadLease<double, 1>>(other);
  EXPECT_EQ(in_child([&] {
              bool good = is_refused_for_the_fork([&] { ReadLease const lease(array, forever); });
              good = good && is_refused_for_the_fork([&] { WriteLease const lease(other, forever); });
              written.reset();
              read.reset();
              for (MemArray<double, 1>* const each : {&array, &other}) {
                auto held = std::make_unique<WrittenElsewhere>(*each);
                std::thread writer([&] { WriteLease const lease(*each, forever); });
                while (!each->state().lock().word().writer_waits()) std::this_thread::yield();
                held.reset();
                writer.join();
                each->fill(1);
              }
              return good;
            }),
            0);
}

TEST_F(ForkTest, GrandchildRefusesHoldsLostInEitherFork) {
  auto const lost = std::make_unique<ReadElsewhere>(array);
  MemArray<double, 1> other({4});
  EXPECT_EQ(in_child([&] {
              if (!is_refused_for_the_fork([&] { WriteLease const lease(array, forever); })) return false;
              auto const more = std::make_unique<WrittenElsewhere>(other);
              return in_child([&] {
                       return is_refused_for_the_fork([&] { WriteLease const lease(array, forever); }) &&
                              is_refused_for_the_fork([&] { ReadLease const lease(other, forever); });
                     }) == 0;
            }),
            0);
}
#endif

TEST_F(ForkTest, ChildDoesNotWaitForOperationOfParent) {
  std::atomic<int> step{0};
  std::thread busy([&] {
    for_each_index(array, default_stream(), [&](double&, auto const& index) {
      if (index[0] != 0) return;
      step = 1;
      while (step != 2) std::this_thread::yield();
    });
  });
  while (step != 1) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              return is_refused_for_the_fork([&] { ReadLease const lease(array, forever); }) &&
                     is_refused_for_the_fork([&] { WriteLease const lease(array, forever); });
            }),
            0);
  step = 2;
  busy.join();
}

// A writer that waits in the parent must not block readers in the child.
TEST_F(ForkTest, WriterWaitingInParentDoesNotBlockReadersInChild) {
  auto lease = std::make_unique<ReadLease<double, 1>>(array);
  std::thread writer([&] { WriteLease<double, 1> const late(array, {.timeout = std::nullopt}); });
  while (!array.state().lock().word().writer_waits()) std::this_thread::yield();
  EXPECT_EQ(in_child([&] {
              ReadLease const second(array);
              return second.is_open() && sum(array, default_stream()) == 0;
            }),
            0);
  EXPECT_THROW(ReadLease{array}, LockError);
  lease.reset();
  writer.join();
}

}  // namespace
}  // namespace memarray::test
