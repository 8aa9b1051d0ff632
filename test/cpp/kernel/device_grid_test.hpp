#pragma once

#include "launch/grid_test.hpp"

#include <memarray/detail/kernel/held_launch.hpp>
#include <memarray/detail/launch/device_loop.hpp>
#include <memarray/detail/launch/device_value.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace memarray::test {

struct Grid {
  unsigned blocks;
  unsigned threads;
};
inline constexpr Grid grids[] = {{1, 1}, {2, 3}, {5, 32}, {1, 700}};

/// Runs a kernel on the host as its device loop, the last block first. `Position`: the type of linear positions.
template <class Position>
struct OnGrid {
  Grid grid;

  template <class Kernel>
  void operator()(detail::HeldLaunch& launch, Kernel const& kernel) const {
    launch.begin();
    if (launch.size() == 0) return;
    auto loop = detail::device_loop<Position>(kernel, launch.is_whole());
    if (loop.is_aligned()) loop.vectors = static_cast<Position>(launch.size() / loop.width);
    run_on_grid(loop, grid.blocks, grid.threads);
  }
};

/// Calls `use(run)` with the runner of kernels for each grid and type of positions.
template <class Use>
void on_each_grid(Use const& use) {
  for (Grid const grid : grids) {
    SCOPED_TRACE(std::to_string(grid.blocks) + " blocks of " + std::to_string(grid.threads));
    use(OnGrid<std::uint32_t>{grid});
    use(OnGrid<std::uint64_t>{grid});
  }
}

/// Reduces the values at all positions: those of each thread, then those of the threads.
template <class T, class Op>
struct ReduceOnGrid {
  T init;
  Op op;
  T* result;
  Grid grid;

  template <class Kernel>
  void operator()(detail::HeldLaunch& launch, Kernel const& kernel) const {
    launch.begin();
    auto const value = detail::device_value<T>(kernel, launch.is_whole());
    std::int64_t const threads = std::int64_t{grid.blocks} * grid.threads;
    T total = init;
    for (std::int64_t thread = std::min(threads, launch.size()); thread-- > 0;) {
      T own = value(thread);
      for (std::int64_t at = thread + threads; at < launch.size(); at += threads) own = op(own, value(at));
      total = op(total, own);
    }
    *result = total;
  }
};

}  // namespace memarray::test
