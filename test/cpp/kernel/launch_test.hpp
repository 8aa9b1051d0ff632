#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include <memarray/base/options.hpp>
#include <memarray/kernel/for_each_index.hpp>
#include <memarray/kernel/launch.hpp>

#include "array/array_test.hpp"

namespace memarray::test {

class LaunchTest : public ArrayTest {
 protected:
  LaunchTest() : _before(options().threads.exchange(4)) {}
  ~LaunchTest() override { options().threads = _before; }

  /// Returns the thread of each index of a launch, of which the first `busy` do `work`.
  static std::vector<std::thread::id> threads_of(std::int64_t size, launch const& settings,
                                                 std::chrono::microseconds work = {},
                                                 std::int64_t busy = std::numeric_limits<std::int64_t>::max()) {
    std::vector<std::thread::id> found(static_cast<std::size_t>(size));
    MemArray<std::uint8_t, 1> array({size});
    for_each_index(
        {size}, settings,
        [&](std::int64_t i, auto) {
          found[static_cast<std::size_t>(i)] = std::this_thread::get_id();
          if (work.count() > 0 && i < busy) std::this_thread::sleep_for(work);
        },
        read(array));
    return found;
  }

 private:
  int _before;
};

}  // namespace memarray::test
