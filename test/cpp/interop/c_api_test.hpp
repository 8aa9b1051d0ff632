#pragma once

#include "driver/handle_test.hpp"

#include <memarray/interop/c_arrays.h>
#include <memarray/interop/c_views.h>

#include <gmock/gmock.h>

#include <atomic>
#include <string>

namespace memarray::test {

inline MemArrayAPI const& api = *memarray_c_api();
inline MemArrayArrayAPI const& arrays = *api.arrays;
inline MemArrayViewAPI const& views = *api.views;

/// A fixture whose tests release all refs themselves; `HandleTest` checks that none is left.
class CApiTest : public HandleTest {
 protected:
  static constexpr int invalid_handle = 400;
  static constexpr int none_there = 500;

  /// Expects that the last failure had this code, and clears it.
  static void expect_error(int code) {
    EXPECT_EQ(api.get_last_error(), code);
    EXPECT_EQ(api.get_last_error(), 0);
  }
  /// Expects the last failure's code and message, and clears it.
  static void expect_error(int code, std::string const& words) {
    char described[2000];
    api.describe_error(api.peek_last_error(), "a test", described, sizeof described);
    EXPECT_THAT(std::string(described), ::testing::StartsWith("a test failed: "));
    EXPECT_THAT(std::string(described), ::testing::HasSubstr(words));
    expect_error(code);
  }
};

/// A `drop` callback that counts its calls in its owner.
inline void count(void* owner) { ++*static_cast<std::atomic<int>*>(owner); }

}  // namespace memarray::test
