#include <memarray/detail/base/fork.hpp>
#include <memarray/detail/state/array_lock.hpp>

#include <gtest/gtest.h>

#include <string>

#include "state/shared_test.hpp"

namespace memarray::test {
namespace {

using detail::ArrayLock;

TEST(ArrayLockTest, AdmitsOnlyAccessThatLockWouldGrant) {
  ArrayLock lock;
  EXPECT_TRUE(lock.admits_read(-1));
  EXPECT_TRUE(lock.admits_write(-1));
  EXPECT_FALSE(lock.admits_write(7)) << "the lease with that id is over";
  ASSERT_TRUE(lock.lock_shared(no_wait));
  EXPECT_TRUE(lock.admits_read(-1));
  EXPECT_FALSE(lock.admits_write(-1));
  EXPECT_EQ(lock.lock_id(), -1);
  EXPECT_NE(lock.obstacle(-1).find("leased for reading by 1 lease"), std::string::npos);
  lock.unlock_shared(detail::fork_generation());
  ASSERT_TRUE(lock.lock_exclusive(7, no_wait));
  EXPECT_FALSE(lock.admits_read(-1));
  EXPECT_FALSE(lock.admits_read(8));
  EXPECT_TRUE(lock.admits_read(7));
  EXPECT_TRUE(lock.admits_write(7));
  EXPECT_EQ(lock.lock_id(), 7);
  EXPECT_FALSE(lock.lock_shared(no_wait));
  EXPECT_FALSE(lock.lock_exclusive(8, no_wait));
  EXPECT_NE(lock.obstacle(8).find("(lock id 8 was given)"), std::string::npos);
  lock.unlock_exclusive();
  EXPECT_TRUE(lock.is_free());
}

TEST(ArrayLockTest, EndEnteredReleasesOnlyHoldFromEnter) {
  ArrayLock lock;
  lock.end_entered();
  EXPECT_TRUE(lock.is_free());
  ASSERT_TRUE(lock.lock_exclusive(7, no_wait));
  lock.end_entered();
  EXPECT_TRUE(lock.is_held_under(7)) << "a lease's hold was released";
  lock.set_entered(7);
  lock.end_entered();
  EXPECT_TRUE(lock.is_free());
}

TEST(ArrayLockTest, LeaseIdsAreReservedAndUnique) {
  std::int64_t const first = ArrayLock::next_lock_id();
  EXPECT_GE(first, detail::LockWord::first_lease_id);
  EXPECT_NE(ArrayLock::next_lock_id(), first);
  EXPECT_FALSE(ArrayLock().is_held_under(detail::LockWord::operation));
}

}  // namespace
}  // namespace memarray::test
