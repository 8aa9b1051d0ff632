#include <memarray/detail/state/acquisition.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

using detail::AccessMode;
using detail::Acquisition;

class AcquisitionTest : public ArrayTest {
 protected:
  AcquisitionTest() { count_up(array); }
  MemArray<double, 1> array{{8}};
};

TEST_F(AcquisitionTest, HoldsLockForScope) {
  for (AccessMode const access : {AccessMode::write, AccessMode::overwrite, AccessMode::update}) {
    Acquisition const hold(array.state(), access, -1, "a test");
    EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::operation);
    EXPECT_TRUE(hold.is_in_place());
    EXPECT_EQ(hold.source(), hold.target());
    EXPECT_NE(message_of<LockError>([&] {
                Acquisition(array.state(), AccessMode::read, -1, "another");
              }).find("another is refused"),
              std::string::npos);
  }
  {
    Acquisition const one(array.state(), AccessMode::read, -1, "a test");
    Acquisition const two(array.state(), AccessMode::read, -1, "a test");
    EXPECT_EQ(detail::LockWord::readers(array.state().lock().word().load()), 2);
  }
  EXPECT_EQ(array.state().lock().word().load(), detail::LockWord::free);
}

TEST_F(AcquisitionTest, OnlyCommitChangesArrayUnderEscapedViews) {
  auto const before = contents(array);
  View<double> const view = escaped_read_only(array);
  std::byte const* const memory = memory_of(array);
  for (AccessMode const access : {AccessMode::write, AccessMode::overwrite, AccessMode::update}) {
    Acquisition const hold(array.state(), access, -1, "a test");
    EXPECT_FALSE(hold.is_in_place());
    EXPECT_EQ(hold.source(), memory);
    if (access == AccessMode::write) {
      EXPECT_EQ(reinterpret_cast<double const*>(hold.target())[5], 5) << "a partial write starts from the old contents";
    }
    for (int i = 0; i < 8; ++i) reinterpret_cast<double*>(hold.target())[i] = -1;
  }
  EXPECT_EQ(memory_of(array), memory);
  EXPECT_EQ(contents(array), before);
  EXPECT_EQ(versions(), 0);
  {
    Acquisition hold(array.state(), AccessMode::update, -1, "a test");
    for (int i = 0; i < 8; ++i) reinterpret_cast<double*>(hold.target())[i] = -1;
    hold.commit();
  }
  EXPECT_EQ(array({7}), -1);
  EXPECT_EQ(view.copy(), before);
  EXPECT_EQ(versions(), 1);
}

TEST_F(AcquisitionTest, NoLockIsAcquiredUnderLeaseId) {
  WriteLease const lease(array);
  {
    Acquisition hold(array.state(), AccessMode::overwrite, lease.lock_id(), "a test");
    EXPECT_TRUE(hold.is_in_place());
    hold.commit();
  }
  EXPECT_EQ(array.get_lock_id(), lease.lock_id());
  EXPECT_THROW(Acquisition(array.state(), AccessMode::read, lease.lock_id() + 1, "a test"), LockError);
}

TEST_F(AcquisitionTest, ReaderPassesWaitingWriterOnlyWithOption) {
  auto reader = std::make_unique<ReadLease<double, 1>>(array);
  std::thread writer([&] { WriteLease<double, 1> const lease(array, {.timeout = std::nullopt}); });
  while (!array.state().lock().word().writer_waits()) std::this_thread::yield();
  EXPECT_THROW(Acquisition(array.state(), AccessMode::read, -1, "a test"), LockError);
  EXPECT_NO_THROW(Acquisition(array.state(), AccessMode::read, -1, "a test", Acquisition::Option::ahead_of_writers));
  reader.reset();
  writer.join();
}

}  // namespace
}  // namespace memarray::test
