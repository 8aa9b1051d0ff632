#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
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

  /// Returns the thread of each index of a launch.
  static std::vector<std::thread::id> threads_of(std::int64_t size, launch const& settings,
                                                 std::chrono::microseconds work = {}) {
    std::vector<std::thread::id> found(static_cast<std::size_t>(size));
    MemArray<std::uint8_t, 1> array({size});
    for_each_index(
        {size}, settings,
        [&](std::int64_t i, auto) {
          found[static_cast<std::size_t>(i)] = std::this_thread::get_id();
          if (work.count() > 0) std::this_thread::sleep_for(work);
        },
        read(array));
    return found;
  }

 private:
  int _before;
};

}  // namespace memarray::test
