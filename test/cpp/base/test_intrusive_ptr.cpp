#include <memarray/detail/base/intrusive_ptr.hpp>

#include <gtest/gtest.h>

#include <type_traits>
#include <utility>

namespace memarray::test {
namespace {

struct Counted {
  int owners = 1;
  void retain() noexcept { ++owners; }
  void release() noexcept { --owners; }
};
using Ptr = IntrusivePtr<Counted>;

static_assert(std::is_nothrow_move_constructible_v<Ptr> && std::is_nothrow_copy_constructible_v<Ptr>);
static_assert(!std::is_convertible_v<Counted*, Ptr>, "adopting a reference is explicit");

TEST(IntrusivePtrTest, ConstructorTakesOverAndShareRetains) {
  Counted object;
  {
    Ptr const shared = Ptr::share(&object);
    EXPECT_EQ(object.owners, 2);
    Ptr const copy = shared;
    EXPECT_EQ(object.owners, 3);
    EXPECT_EQ(copy.get(), &object);
  }
  EXPECT_EQ(object.owners, 1);
  {
    Ptr const owned(&object);
  }
  EXPECT_EQ(object.owners, 0);
}

TEST(IntrusivePtrTest, MoveLeavesCountUnchanged) {
  Counted object;
  Ptr first(&object);
  Ptr second = std::move(first);
  EXPECT_FALSE(first);
  EXPECT_EQ(object.owners, 1);
  first = std::move(second);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_EQ(object.owners, 1);
}

TEST(IntrusivePtrTest, AssignmentReleasesOldTargetAndAllowsSelfAssignment) {
  Counted one;
  Counted two;
  Ptr pointer(&one);
  pointer = Ptr(&two);
  EXPECT_EQ(one.owners, 0);
  Ptr const& itself = pointer;
  pointer = itself;
  EXPECT_EQ(two.owners, 1);
  pointer = {};
  EXPECT_EQ(two.owners, 0);
}

}  // namespace
}  // namespace memarray::test
