#pragma once

namespace memarray::test {

/// Runs a device loop on the host for each thread of a grid, the last block first.
template <class Loop>
void run_on_grid(Loop const& loop, unsigned blocks, unsigned threads) {
  for (unsigned block = blocks; block-- > 0;)
    for (unsigned thread = 0; thread < threads; ++thread) Loop(loop).run({block, thread, blocks, threads});
}

}  // namespace memarray::test
