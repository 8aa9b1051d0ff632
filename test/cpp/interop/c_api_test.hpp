#pragma once

#include "resource/handle_test.hpp"

#include <memarray/interop/c_api.h>

#include <atomic>

namespace memarray::test {

inline MemArrayAPI const& api = *memarray_c_api();

/// Every test lets go of all refs by itself; HandleTest sees that nothing is left.
class CApiTest : public HandleTest {
 protected:
  static constexpr int invalid_handle = 400;
  static constexpr int none_there = 500;

  /// The last failure had this code.
  static void expect_error(int code) {
    EXPECT_EQ(api.get_last_error(), code);
    EXPECT_EQ(api.get_last_error(), 0);
  }
};

/// A `drop` that counts in its owner.
inline void count(void* owner) { ++*static_cast<std::atomic<int>*>(owner); }

}  // namespace memarray::test
