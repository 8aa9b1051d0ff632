// Arrays shared by several processes, here as several mappings in one process.

#include "state/segment.hpp"

#include <memarray/array/shared_memory.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "state/shared_test.hpp"

namespace memarray::test {

struct Charged {
  double charge = 1.5;
  std::int32_t kind = 3;
};

}  // namespace memarray::test

MEMARRAY_DTYPE(memarray::test::Charged);

namespace memarray::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using Array = SharedArray;
using Read = ReadLease<std::int64_t, 2>;
using Write = WriteLease<std::int64_t, 2>;

TEST_F(SharedMemoryTest, WritesAreVisibleThroughOtherMapping) {
  Array b = attach();
  EXPECT_NE(memory_of(a), memory_of(b));
  a.write({2, 1}, 7);
  EXPECT_EQ((b({2, 1})), 7);
  b.fill(9);
  EXPECT_EQ((a({0, 0})), 9);
  EXPECT_TRUE(a.is_foreign());
  EXPECT_EQ(a.escaped_views(), EscapedViews::error);
  EXPECT_EQ(copies(), 0);
}

TEST_F(SharedMemoryTest, NewElementsAreZeroOrStructDefault) {
  for (std::int64_t const element : contents(a)) EXPECT_EQ(element, 0);
  SharedFile const other(shared_bytes<Charged, 1>({5}));
  auto const charges = create_shared<Charged, 1>(other.map(), {5});
  auto const same = attach_shared<Charged, 1>(other.map());
  EXPECT_EQ(same({4}).charge, 1.5);
  EXPECT_EQ(same({0}).kind, 3);
}

TEST_F(SharedMemoryTest, LeasesExcludeEachOtherAcrossMappings) {
  Array b = attach();
  {
    Write const writer(a);
    EXPECT_THROW(Read{b}, LockError);
    EXPECT_THROW(Write{b}, LockError);
    EXPECT_THROW(b.fill(1), LockError);
    EXPECT_THROW(b.write({0, 0}, 1), LockError);
    EXPECT_THROW(static_cast<void>(b({0, 0})), LockError);
    EXPECT_THROW(static_cast<void>(b.ptr()), LockError);
    EXPECT_THROW(static_cast<void>(Array(b)), LockError);
    EXPECT_THROW(b.enter(3), LockError);
    EXPECT_EQ(b.get_lock_id(), writer.lock_id());
    EXPECT_THROW(b.fill(1, writer.lock_id()), LockError) << "an id is good in the array that it was drawn from";
    a.fill(4, writer.lock_id());
  }
  {
    Read const reader(a);
    EXPECT_THROW(Write{b}, LockError);
    EXPECT_THROW(b.fill(1), LockError);
    EXPECT_THROW(b.write({0, 0}, 1), LockError);
    EXPECT_THROW(static_cast<void>(b.ptr()), LockError);
  }
  {
    Read const one(a);
    Read const other(b);
    EXPECT_THROW(Write{a}, LockError);
    EXPECT_THROW(Write{b}, LockError);
    EXPECT_THROW(b.write({0, 0}, 1), LockError);
    EXPECT_EQ((b({0, 0})), 4);
  }
  b.enter(5);
  EXPECT_THROW(a.fill(2), LockError);
  EXPECT_EQ(a.get_lock_id(), 5);
  b.exit();
  a.fill(2);
  EXPECT_EQ(a.get_lock_id(), -1);
}

TEST_F(SharedMemoryTest, ExportsAreCountedAcrossProcesses) {
  Array b = attach();
  {
    View<std::int64_t> const view(b.get_dlpack_tensor(true));
    EXPECT_THAT(refusal([this] { a.fill(1); }), HasSubstr("1 exported view(s)"));
    EXPECT_THAT(refusal([this] { a.write({0, 0}, 1); }), HasSubstr("1 exported view(s)"));
    EXPECT_THROW(Write{a}, LockError);
    Read const passes(a);
    EXPECT_EQ((a({0, 0})), 0);
  }
  a.fill(1);
  {
    std::optional<View<std::int64_t>> view;
    {
      Write const lease(b);
      view.emplace(b.get_dlpack_tensor(true, lease.lock_id()));
    }
    EXPECT_THAT(refusal([this] { Read{a}; }), HasSubstr("(1 writable)"));
    EXPECT_THROW(static_cast<void>(a({0, 0})), LockError);
    a.escaped_views(EscapedViews::alias);
    view->data()[0] = 5;
    EXPECT_EQ((a({0, 0})), 5);
    a.fill(6);
    EXPECT_EQ(view->data()[0], 6) << "it goes on showing the array";
  }
  EXPECT_EQ(copies(), 0);
  EXPECT_EQ(versions(), 0);
}

TEST_F(SharedMemoryTest, ViewKeepsMappingAndCountAfterArrayIsDestroyed) {
  std::optional<Array> b(attach());
  std::optional<View<std::int64_t>> view(b->get_dlpack_tensor(true));
  b.reset();
  EXPECT_THROW(a.fill(1), LockError);
  EXPECT_EQ(view->data()[0], 0);
  view.reset();
  a.fill(1);
}

TEST_F(SharedMemoryTest, UnsupportedOperationsAreRefusedWithReason) {
  MemArray<std::int64_t, 2> other({4, 3});
  EXPECT_THAT(message_of<Error>([&] { a.resize({2, 2}); }), HasSubstr("shared memory"));
  EXPECT_THAT(message_of<Error>([&] { a.exchange(other); }), HasSubstr("copy()"));
  EXPECT_THAT(message_of<Error>([&] { other.exchange(a); }), HasSubstr("shared memory"));
  EXPECT_THAT(message_of<Error>([&] { a.move_memory(kDLCUDA, 0, 0); }), HasSubstr("shared memory"));
  EXPECT_THAT(message_of<Error>([&] { a.move_memory(kDLCPU, 0, 0); }), HasSubstr("shared memory"));
  EXPECT_THAT(message_of<ValueError>([&] { a.escaped_views(EscapedViews::snapshot); }), HasSubstr("fresh memory"));
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(attach_shared<double, 2>(file.map())); }),
              HasSubstr("array of int64"));
  EXPECT_THAT(message_of<TypeError>([&] { static_cast<void>(attach_shared<std::int64_t, 1>(file.map())); }),
              HasSubstr("shape (4, 3)"));
  EXPECT_THAT(message_of<ValueError>([&] { static_cast<void>(create_shared<std::int64_t, 2>(file.map(), {4, 3})); }),
              HasSubstr("in use"));
  SharedFile const small(4096);
  EXPECT_THROW(static_cast<void>(create_shared<std::int64_t, 2>(small.map(), {4, 3})), ValueError);
  EXPECT_EQ(a.escaped_views(), EscapedViews::error);
  EXPECT_EQ(recover(other).size(), 0U);
}

TEST_F(SharedMemoryTest, MappingWithoutMemoryIsRefusedBeforeItIsWritten) {
  // Writes past the end of a file raise SIGBUS, as do writes to a page that a full file system cannot provide.
  std::size_t const bytes = shared_bytes<std::int64_t, 1>({4096});
  for (std::size_t const there : {std::size_t{0}, std::size_t{4096}, bytes - 4096}) {
    SharedFile const full(bytes);
    SharedMemory memory = full.map();
    full.truncate(there);
    try {
      static_cast<void>(create_shared<std::int64_t, 1>(std::move(memory), {4096}));
      ADD_FAILURE() << there;
    } catch (std::system_error const& error) {
      EXPECT_EQ(error.code().value(), ENOSPC);
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(bytes) + " bytes"));
    }
  }
  SharedFile const whole(bytes);
  EXPECT_EQ((create_shared<std::int64_t, 1>(whole.map(), {4096}).get_size()), 4096);
}

TEST_F(SharedMemoryTest, CopiesArePrivateToProcess) {
  a.fill(3);
  Array copy(a);
  EXPECT_FALSE(copy.is_foreign());
  Write const lease(a);
  copy.resize({2, 2});
  EXPECT_EQ((copy({1, 1})), 3);
}

TEST_F(SharedMemoryTest, MovedAndSwappedArraysStayShared) {
  Array b = attach();
  {
    Array moved(std::move(b));
    Array other({4, 3});
    swap(moved, other);
    EXPECT_FALSE(moved.is_foreign());
    Write const lease(other);
    EXPECT_THROW(Read{a}, LockError);
  }
  Write const free(a);
}

TEST_F(SharedMemoryTest, SeveralSharedArraysAreLeasedTogether) {
  SharedFile const second(shared_bytes<std::int64_t, 2>({4, 3}));
  Array c = create_shared<std::int64_t, 2>(second.map(), {4, 3});
  Array b = attach();
  Array own({4, 3});
  {
    auto const all = leases(write(a), read(c), write(own));
    EXPECT_THROW(Read{b}, LockError);
  }
  EXPECT_THROW(static_cast<void>(leases(write(a), write(b))), LockError) << "they are one array";
  EXPECT_THROW(static_cast<void>(leases(detail::LeaseTimeout(std::nullopt), read(a), write(b))), LockError);
  {
    auto const both = leases(read(a), read(b));
  }
  Write const free(b);
}

// Addresses differ between processes. Two processes that lock two shared arrays must not deadlock.
TEST_F(SharedMemoryTest, AllProcessesLockArraysInSameOrder) {
  SharedFile const second(shared_bytes<std::int64_t, 2>({4, 3}));
  Array c = create_shared<std::int64_t, 2>(second.map(), {4, 3});
  std::vector<Array> firsts;
  std::vector<Array> seconds;
  auto const by_address = [](Array const& x, Array const& y) { return std::less<>()(&x.state(), &y.state()); };
  // Some array of each segment must have a lower address than some array of the other one.
  bool interleaved = false;
  for (int i = 0; i < 64 && !interleaved; ++i) {
    firsts.push_back(attach());
    seconds.push_back(attach_shared<std::int64_t, 2>(second.map()));
    std::ranges::sort(firsts, by_address);
    std::ranges::sort(seconds, by_address);
    interleaved = by_address(firsts.front(), seconds.back()) && by_address(seconds.front(), firsts.back());
  }
  ASSERT_TRUE(interleaved);
  bool const a_comes_first = a.state().lock().segment()->uid() < c.state().lock().segment()->uid();
  Array& earlier = a_comes_first ? a : c;
  Array& later = a_comes_first ? c : a;
  // Tries both address orders of the two arrays.
  for (auto const& [x, y] :
       {std::pair(&firsts.front(), &seconds.back()), std::pair(&firsts.back(), &seconds.front())}) {
    std::optional<Write> holder(std::in_place, later);
    std::atomic<bool> over{false};
    std::thread taker([&, x = x, y = y] {
      try {
        static_cast<void>(leases(detail::LeaseTimeout(Timeout(20s)), write(*x), write(*y)));
      } catch (LockError const& error) {
        ADD_FAILURE() << error.what();
      }
      over = true;
    });
    bool has_the_earlier = false;
    while (!has_the_earlier && !over) {
      try {
        Read const look(earlier);
        std::this_thread::yield();
      } catch (LockError const& error) {
        has_the_earlier = std::string(error.what()).find("holds it for writing") != std::string::npos;
      }
    }
    EXPECT_TRUE(has_the_earlier) << "it waits for the other one first";
    holder.reset();
    taker.join();
  }
}

TEST_F(SharedMemoryTest, ThreadsExcludeEachOtherWithinAndAcrossMappings) {
  Array b = attach();
  constexpr int rounds = 500;
  std::atomic<int> torn{0};
  auto const write_both = [&](Array& array) {
    for (int round = 0; round < rounds; ++round) {
      Write const lease(array, {.timeout = std::nullopt});
      std::int64_t const next = lease.ptr()[0] + 1;
      for (int i = 0; i < 12; ++i) lease.ptr()[i] = next;
    }
  };
  auto const read_all = [&](Array& array) {
    for (int round = 0; round < rounds; ++round) {
      Read const lease(array, {.timeout = std::nullopt});
      for (int i = 1; i < 12; ++i) torn += lease.ptr()[i] != lease.ptr()[0];
    }
  };
  std::vector<std::thread> threads;
  for (Array* array : {&a, &b})
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, array] { write_both(*array); });
      threads.emplace_back([&, array] { read_all(*array); });
    }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ((a({3, 2})), 4 * rounds);
}

TEST_F(SharedMemoryTest, WaitingWriterBlocksNewReaders) {
  Array b = attach();
  std::optional<Read> first(std::in_place, b);
  std::atomic<bool> done{false};
  std::thread writer([&] {
    Write const lease(a, {.timeout = std::nullopt});
    done = true;
  });
  // Readers are refused only once the writer waits.
  std::string words;
  while (words.empty()) {
    try {
      Read const another(b);
    } catch (LockError const& error) {
      words = error.what();
    }
  }
  EXPECT_FALSE(done);
  EXPECT_THAT(words, HasSubstr("waits to write it"));
  first.reset();
  writer.join();
  Read const again(b);
}

TEST_F(SharedMemoryTest, WaitsEndAfterTimeout) {
  Array b = attach();
  Write const holder(a);
  auto const began = std::chrono::steady_clock::now();
  EXPECT_THROW(Read(b, {.timeout = 30ms}), LockError);
  EXPECT_THROW(Write(b, {.timeout = 30ms}), LockError);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 60ms);
}

// A hold that is still being acquired must not pass as an open one.
TEST_F(SharedMemoryTest, LockIdIsValidOnlyAfterAllReadersRelease) {
  Array b = attach();
  std::optional<Read> reader(std::in_place, b);
  std::atomic<bool> entered{false};
  std::thread waiter([&] {
    detail::LeaseCore lease(a.state_ptr(), detail::LeaseCore::Kind::write, {.timeout = std::nullopt});
    lease.enter();
    entered = true;
  });
  while (a.state().lock().word().load() == detail::LockWord::free) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) {
    std::int64_t const word = a.state().lock().word().load();
    // Before the hold's id is stored, the word has a placeholder that is not a valid id.
    constexpr std::int64_t no_id = detail::LockWord::no_id;
    EXPECT_TRUE(entered || word >= no_id || word == detail::LockWord::free) << word;
  }
  EXPECT_FALSE(entered);
  reader.reset();
  waiter.join();
}

TEST_F(SharedMemoryTest, MappingIsReleasedWithLastArrayOrExport) {
  SharedMemory mapped = file.map();
  std::weak_ptr<void const> const mapping = mapped.keep_alive;
  std::optional<Array> b(attach_shared<std::int64_t, 2>(std::move(mapped)));
  EXPECT_FALSE(mapping.expired());
  std::optional<View<std::int64_t>> view(b->get_dlpack_tensor(true));
  b.reset();
  EXPECT_FALSE(mapping.expired());
  view.reset();
  EXPECT_TRUE(mapping.expired());
}

TEST_F(SharedMemoryTest, MappingIsReleasedWhenCreateOrAttachFails) {
  for (bool const create : {false, true}) {
    SharedMemory mapped = file.map();
    std::weak_ptr<void const> const mapping = mapped.keep_alive;
    if (create)
      EXPECT_THROW(static_cast<void>(create_shared<double, 1>(std::move(mapped), {1 << 20})), ValueError);
    else
      EXPECT_THROW(static_cast<void>(attach_shared<double, 1>(std::move(mapped))), TypeError);
    mapped.keep_alive.reset();
    EXPECT_TRUE(mapping.expired());
  }
}

TEST_F(SharedMemoryTest, AttachIsRefusedWhenAllSlotsAreUsed) {
  std::vector<Array> arrays;
  for (std::uint32_t i = 1; i < detail::SegmentHeader::slot_count; ++i) arrays.push_back(attach());
  EXPECT_THAT(message_of<Error>([&] { static_cast<void>(attach()); }), HasSubstr("250 users already"));
  {
    Write const lease(arrays.back());
  }
  arrays.pop_back();
  Array last = attach();
  Write const lease(last);
  EXPECT_THROW(Read{a}, LockError);
}

}  // namespace
}  // namespace memarray::test
