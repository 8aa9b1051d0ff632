#pragma once

#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// One formulation. `run(n)` does its work n times.
struct Contender {
  std::string name;
  std::function<void(long)> run;
};

/// Makes a contender of a call, in a loop that the compiler can neither merge nor drop.
template <class Work>
Contender contender(std::string name, Work work) {
  return {std::move(name), [work = std::move(work)](long times) mutable {
            for (long i = 0; i < times; ++i) {
              work();
              asm volatile("" ::: "memory");
            }
          }};
}

/// Returns the time of the process's clock for one thread, and of the wall clock for several.
inline double seconds_now(int threads) {
  timespec time{};
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

inline double seconds_of(Contender const& each, long times, int threads) {
  double const start = seconds_now(threads);
  each.run(times);
  return seconds_now(threads) - start;
}

/// Makes one call that is not timed, after the threads of the previous contender have stopped spinning.
inline void warm_up(Contender const& each, int threads) {
  if (threads > 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  each.run(1);
}

/// Returns for each contender the seconds of one call in each round: the mean of a batch of about `milliseconds`.
inline std::vector<std::vector<double>> take_rounds(std::vector<Contender> const& contenders, int rounds,
                                                    int milliseconds, int threads) {
  std::size_t const count = contenders.size();
  std::vector<long> times(count, 1);
  for (std::size_t c = 0; c < count; ++c) {
    warm_up(contenders[c], threads);
    double taken = seconds_of(contenders[c], 1, threads);
    while (taken < 2.5e-4 * milliseconds) taken = seconds_of(contenders[c], times[c] *= 4, threads);
    double const wanted = 1e-3 * milliseconds / taken * static_cast<double>(times[c]);
    times[c] = wanted < 1 ? 1 : static_cast<long>(wanted);
  }
  std::vector<std::vector<double>> costs(count);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < count; ++turn) {
      std::size_t const c = (turn + static_cast<std::size_t>(round)) % count;
      if (threads > 1) warm_up(contenders[c], threads);
      costs[c].push_back(seconds_of(contenders[c], times[c], threads) / static_cast<double>(times[c]));
    }
  }
  return costs;
}

/// The seconds of each sample, by name.
using Costs = std::vector<std::pair<std::string, std::vector<double>>>;

/// Appends rounds of the contenders of one comparison, as "comparison | contender".
inline void add_rounds(Costs& costs, std::string const& comparison, std::vector<Contender> const& contenders,
                       int rounds, int milliseconds, int threads) {
  auto const taken = take_rounds(contenders, rounds, milliseconds, threads);
  for (std::size_t c = 0; c < contenders.size(); ++c)
    costs.emplace_back(comparison + " | " + contenders[c].name, taken[c]);
}

/// Prints the costs as JSON, which `harness.programs` reads.
inline void print(Costs const& costs) {
  char const* separator = "{";
  for (auto const& [name, seconds] : costs) {
    std::printf("%s\"%s\": [", separator, name.c_str());
    for (std::size_t s = 0; s < seconds.size(); ++s) std::printf("%s%.6e", s ? ", " : "", seconds[s]);
    std::printf("]");
    separator = ", ";
  }
  std::printf("}\n");
}
