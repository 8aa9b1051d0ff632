#include "base/thread_number.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <thread>

namespace memarray::detail {
namespace {

TEST(ThreadNumberTest, NoLaterThreadHasANumberAgain) {
  std::uint64_t const mine = this_thread_number();
  std::set<std::uint64_t> seen{mine};
  for (int i = 0; i < 20; ++i) std::thread([&] { seen.insert(this_thread_number()); }).join();
  EXPECT_EQ(seen.size(), 21u);
  EXPECT_FALSE(seen.contains(0));
  EXPECT_EQ(this_thread_number(), mine);
}

}  // namespace
}  // namespace memarray::detail
