#pragma once

#include <cstdint>
#include <thread>
#include <vector>

/// Splits [0, count) into one run per thread. The last run uses the caller's thread.
template <class F>
void on_threads(std::int64_t count, int threads, F const& run) {
  std::vector<std::thread> helpers;
  for (int t = 0; t + 1 < threads; ++t) {
    helpers.emplace_back([=] { run(count * t / threads, count * (t + 1) / threads); });
  }
  run(count * (threads - 1) / threads, count);
  for (auto& helper : helpers) helper.join();
}
