#include <memarray/detail/state/trace.hpp>

#include <gtest/gtest.h>

#include <string>

#include "array/array_test.hpp"

namespace memarray::test {
namespace {

class TraceTest : public ArrayTest {
 protected:
  TraceTest() { options().trace_leases = true; }
  ~TraceTest() override { options().trace_leases = false; }
  MemArray<double, 1> array{{4}};
};

TEST_F(TraceTest, RefusalNamesWhereEachLeaseWasOpened) {
  ReadLease first(array);
  ReadLease const second(array);
  auto words = message_of<LockError>([&] { array.fill(1); });
  auto const at = words.find("test_trace.cpp");
  ASSERT_NE(at, std::string::npos) << words;
  EXPECT_NE(words.find("test_trace.cpp", at + 1), std::string::npos) << words;
  first.close();
  words = message_of<LockError>([&] { array.fill(1); });
  EXPECT_EQ(words.find("test_trace.cpp"), words.rfind("test_trace.cpp")) << words;
}

TEST_F(TraceTest, MovedLeaseIsTracedUntilDestroyed) {
  {
    WriteLease first(array);
    WriteLease const second = std::move(first);
    EXPECT_EQ(detail::traced_leases(&array.state()).size(), 1U);
  }
  EXPECT_TRUE(detail::traced_leases(&array.state()).empty());
}

TEST_F(TraceTest, NothingIsTracedWhenDisabled) {
  options().trace_leases = false;
  ReadLease const lease(array);
  EXPECT_TRUE(detail::traced_leases(&array.state()).empty());
  EXPECT_EQ(message_of<LockError>([&] { array.fill(1); }).find("opened at"), std::string::npos);
}

TEST_F(TraceTest, LeasesOfOtherArraysAreNotListed) {
  MemArray<double, 1> other({4});
  ReadLease const lease(array);
  WriteLease const too(other);
  EXPECT_EQ(detail::traced_leases(&array.state()).size(), 1U);
  EXPECT_EQ(detail::traced_leases(&other.state()).size(), 1U);
}

}  // namespace
}  // namespace memarray::test
