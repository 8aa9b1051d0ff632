#include "memory/deferred.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace memarray::test {
namespace {

using detail::defer;
using detail::Deferred;
using detail::run_deferred;

struct Noted : Deferred {
  explicit Noted(int n) : Deferred{&note}, number(n) {}
  static void note(Deferred* self) noexcept {
    auto* const noted = static_cast<Noted*>(self);
    order.push_back(noted->number);
    delete noted;
  }
  int number;
  inline static std::vector<int> order;
};

TEST(DeferredTest, RunsOnceInOrder) {
  Noted::order.clear();
  for (int i = 0; i < 5; ++i) defer(new Noted(i));
  EXPECT_TRUE(Noted::order.empty());
  run_deferred();
  EXPECT_EQ(Noted::order, (std::vector<int>{0, 1, 2, 3, 4}));
  run_deferred();
  EXPECT_EQ(Noted::order.size(), 5u);
}

struct DefersAnother : Deferred {
  DefersAnother() : Deferred{&again} {}
  static void again(Deferred* self) noexcept {
    delete static_cast<DefersAnother*>(self);
    defer(new Noted(7));
  }
};

TEST(DeferredTest, WorkDeferredDuringARunWaitsForTheNextRun) {
  Noted::order.clear();
  defer(new DefersAnother);
  run_deferred();
  EXPECT_TRUE(Noted::order.empty());
  run_deferred();
  EXPECT_EQ(Noted::order, std::vector<int>{7});
}

struct CountedLater : Deferred {
  CountedLater() : Deferred{&count} {}
  static void count(Deferred* self) noexcept {
    ++ran;
    delete static_cast<CountedLater*>(self);
  }
  inline static std::atomic<int> ran{0};
};

TEST(DeferredTest, NothingIsLostBetweenThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        defer(new CountedLater);
        if (i % 7 == 0) run_deferred();
      }
    });
  for (std::thread& thread : threads) thread.join();
  run_deferred();
  EXPECT_EQ(CountedLater::ran, 8000);
}

}  // namespace
}  // namespace memarray::test
