// Arrays shared with child processes, some of which are killed.

#include <memarray/array/shared_memory.hpp>

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "state/shared_test.hpp"

namespace memarray::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Array = SharedArray;
using Read = ReadLease<std::int64_t, 2>;
using Write = WriteLease<std::int64_t, 2>;

TEST_F(SharedMemoryTest, RefusalNamesHoldingProcess) {
  Child const child([this]() -> std::shared_ptr<void> {
    auto array = std::make_shared<Array>(attach());
    return keep(array, std::make_shared<Read>(*array), std::make_shared<Read>(*array));
  });
  EXPECT_THAT(refusal([this] { Write{a}; }), HasSubstr(pid(child.pid()) + " holds it for reading (2 leases)"));
  EXPECT_THAT(refusal([this] { a.fill(1); }), HasSubstr(pid(child.pid())));
  EXPECT_THAT(refusal([this] { a.write({0, 0}, 1); }), HasSubstr(pid(child.pid())));
  Read const passes(a);
}

TEST_F(SharedMemoryTest, LeaseOfForkedChildExcludesParent) {
  Child const child([this]() -> std::shared_ptr<void> {
    // The child uses the parent's array object.
    return keep(std::make_shared<Write>(a));
  });
  EXPECT_THAT(refusal([this] { Read{a}; }), HasSubstr(pid(child.pid()) + " holds it for writing"));
  EXPECT_GE(a.get_lock_id(), std::int64_t{1} << 62);
}

TEST_F(SharedMemoryTest, AChildDoesNotEndLeasesOfItsParents) {
  auto writer = std::make_shared<Write>(a);
  {
    Child const child([writer]() -> std::shared_ptr<void> {
      writer->close();
      return keep(1);
    });
    Array b = attach();
    EXPECT_THROW(Read{b}, LockError);
  }
  writer->close();
  auto reader = std::make_shared<Read>(a);
  {
    Child const child([this, reader]() -> std::shared_ptr<void> {
      {
        Read const own(a);
      }
      reader->close();
      {
        Read const own(a);
      }
      return keep(1);
    });
    Array b = attach();
    EXPECT_THROW(Write{b}, LockError);
  }
  reader->close();
  Array b = attach();
  Write const all_gone(b);
}

TEST_F(SharedMemoryTest, AChildDoesNotEndAReadOfItsParentBeforeItsFirstAccess) {
  auto inherited = std::make_shared<Read>(a);
  Child const child([inherited]() -> std::shared_ptr<void> {
    inherited->close();
    return keep(1);
  });
  Array b = attach();
  EXPECT_THROW(Write{b}, LockError);
  inherited->close();
  Write const all_gone(b);
}

TEST_F(SharedMemoryTest, AChildsOwnReadOutlivesAnInheritedOne) {
  auto inherited = std::make_shared<Read>(a);
  Child child([this, inherited]() -> std::shared_ptr<void> {
    auto own = std::make_shared<Read>(a);
    inherited->close();
    return keep(own);
  });
  inherited->close();
  Array b = attach();
  EXPECT_THROW(Write{b}, LockError);
  child.kill();
  Write const all_gone(b);
}

TEST_F(SharedMemoryTest, AChildEndsItsOwnReadBesideAnInheritedOne) {
  auto inherited = std::make_shared<Read>(a);
  auto own = std::make_shared<std::optional<Read>>();
  Child const child([this, inherited, own]() -> std::shared_ptr<void> {
    {
      Read const closed(a);
    }
    own->emplace(a);
    *own = std::nullopt;
    return keep(inherited);
  });
  inherited->close();
  a.fill(1);
  Array b = attach();
  Write const all_gone(b);
}

TEST_F(SharedMemoryTest, ExitedWriterIsDetectedAndRecovered) {
  Array b = attach();
  Child child([this]() -> std::shared_ptr<void> {
    auto array = std::make_shared<Array>(attach());
    auto lease = std::make_shared<Write>(*array);
    lease->ptr()[0] = 13;
    return keep(array, lease);
  });
  pid_t const who = child.pid();
  EXPECT_EQ(recover(a).size(), 0U) << "a live process keeps its holds";
  EXPECT_THROW(Read{a}, LockError);
  child.kill();
  for (Array* array : {&a, &b}) {
    EXPECT_THAT(refusal([&] { Read{*array}; }), HasSubstr(pid(who) + " exited while it held it for writing"));
    EXPECT_THAT(refusal([&] { Write{*array}; }), HasSubstr("call recover()"));
    EXPECT_THAT(refusal([&] { static_cast<void>((*array)({0, 0})); }), HasSubstr("half written"));
    // The hold is never released, so a wait without a timeout ends at once.
    EXPECT_THAT(refusal([&] { Read(*array, {.timeout = std::nullopt}); }), HasSubstr("half written"));
    EXPECT_THAT(refusal([&] { Write(*array, {.timeout = std::nullopt}); }), HasSubstr("half written"));
  }
  std::vector<Death> const deaths = recover(b);
  ASSERT_EQ(deaths.size(), 1U);
  EXPECT_EQ(deaths[0].pid, who);
  EXPECT_EQ(deaths[0].held, Death::Held::write);
  EXPECT_EQ(recover(a).size(), 0U) << "once";
  EXPECT_EQ((a({0, 0})), 13) << "its write is visible";
  a.fill(0);
  Write const free(b);
}

TEST_F(SharedMemoryTest, WaiterIsRefusedWhenHolderExits) {
  Child child([this]() -> std::shared_ptr<void> { return keep(std::make_shared<Write>(a)); });
  std::atomic<bool> waits{false};
  std::string words;
  std::thread waiter([&] {
    Array b = attach();
    waits = true;
    words = refusal([&] { Write(b, {.timeout = std::nullopt}); });
  });
  while (!waits) std::this_thread::yield();
  child.kill();
  waiter.join();
  EXPECT_THAT(words, HasSubstr("exited while it held it for writing"));
}

TEST_F(SharedMemoryTest, ExitedReaderIsClearedAndReported) {
  Child child([this]() -> std::shared_ptr<void> { return keep(std::make_shared<Read>(a)); });
  std::string const who = pid(child.pid());
  EXPECT_THROW(Write{a}, LockError);
  child.kill();
  static_cast<void>(take_reports());
  Write{a};
  std::vector<Report> const reports = take_reports();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].kind, Report::Kind::death);
  EXPECT_THAT(reports[0].message, HasSubstr(who + " exited while it held"));
  EXPECT_THAT(reports[0].message, HasSubstr("for reading"));
  a.fill(3);
}

TEST_F(SharedMemoryTest, ViewsOfExitedProcessAreNotCounted) {
  Child child([this]() -> std::shared_ptr<void> {
    return keep(std::make_shared<View<std::int64_t>>(a.get_dlpack_tensor(true)));
  });
  EXPECT_THAT(refusal([this] { a.fill(1); }), HasSubstr("1 exported view(s)"));
  pid_t const who = child.pid();
  child.kill();
  a.fill(1);
  std::vector<Death> const deaths = recover(a);
  ASSERT_EQ(deaths.size(), 1U);
  EXPECT_EQ(deaths[0].pid, who);
  EXPECT_EQ(deaths[0].held, Death::Held::exports);
}

TEST_F(SharedMemoryTest, InheritedViewCountsForChildAfterItsFirstAccess) {
  auto view = std::make_shared<View<std::int64_t>>(a.get_dlpack_tensor(true));
  Child child([this, view]() -> std::shared_ptr<void> {
    {
      Read const first(a);
    }
    return keep(1);
  });
  view->drop();
  EXPECT_THROW(a.fill(1), LockError);
  child.kill();
  a.fill(1);
}

TEST_F(SharedMemoryTest, IncrementsOfSeveralProcessesAreNotLost) {
  constexpr int rounds = 1000;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t const child = ::fork();
    if (child == 0) {
      ::alarm(100);
      Array mine = i % 2 == 0 ? attach() : Array::share(a.state_ptr());
      for (int round = 0; round < rounds; ++round) {
        Write const lease(mine, {.timeout = std::nullopt});
        std::int64_t const seen = lease.ptr()[0];
        if (round % 64 == 0) ::sched_yield();
        lease.ptr()[0] = seen + 1;
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t const child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ((a({0, 0})), 4 * rounds);
  EXPECT_EQ(recover(a).size(), 0U) << "they ended in good order";
}

}  // namespace
}  // namespace memarray::test
