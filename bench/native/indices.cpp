// Compares the types of a kernel's index, and short launches over arrays of different sizes, in one program. `indices
// ROUNDS MILLISECONDS` prints the seconds of one launch in each round.
#include <memarray/memarray.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rounds.hpp"

namespace {

using memarray::overwrite;
using memarray::read;
using memarray::write;
using Array = memarray::MemArray<double, 1>;

struct Pair {
  Array from, to;
  memarray::StreamHandle stream = memarray::default_stream();
  double* from_data = from.ptr();
  double* to_data = to.ptr();

  explicit Pair(std::int64_t size) : from({size}), to({size}) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(size, 4096); ++i) from_data[i] = static_cast<double>(i);
  }
};

template <class F>
void launch(Pair& p, F const& f) {
  memarray::for_each_index({4096}, p.stream, f, read(p.from), overwrite(p.to));
}

void wide(Pair& p) {
  launch(p, [](std::int64_t i, auto from, auto to) { to[i] = 3 * from[i]; });
}
void narrow(Pair& p) {
  launch(p, [](std::int32_t i, auto from, auto to) { to[i] = 3 * from[i]; });
}
void cast(Pair& p) {
  launch(p, [](std::int64_t i, auto from, auto to) { to[static_cast<int>(i)] = 3 * from[static_cast<int>(i)]; });
}
void plain(Pair& p) {
  double const* const from = p.from_data;
  double* const to = p.to_data;
  std::int64_t const size = p.from.get_size();
  for (std::int64_t i = 0; i < size; ++i) to[i] = 3 * from[i];
}

/// Uses 16 elements of each array.
void few(Pair& p) {
  memarray::for_each_index(
      {16}, p.stream, [](std::int64_t i, auto from, auto to) { to[i] = 3 * from[i]; }, read(p.from), write(p.to));
}

/// Ends the program unless a launch multiplies the first `count` elements.
Contender checked(char const* name, Pair& pair, void (*run)(Pair&), std::int64_t count) {
  std::fill_n(pair.to_data, count, -1.0);
  run(pair);
  for (std::int64_t i = 0; i < count; ++i) {
    if (pair.to_data[i] == 3 * static_cast<double>(i)) continue;
    std::fprintf(stderr, "indices: %s computes something else\n", name);
    std::exit(1);
  }
  return contender(name, [&pair, run] { run(pair); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: indices ROUNDS MILLISECONDS\n");
    return 2;
  }
  int const rounds = std::atoi(argv[1]), milliseconds = std::atoi(argv[2]);
  Pair pair(4096), large(1 << 23), small(16);  // large: 64 MiB each
  Costs costs;
  memarray::options().threads = 1;
  add_rounds(costs, "4,096 doubles by a 64-bit index",
             {checked("memarray", pair, wide, 4096), checked("memarray: a 32-bit index", pair, narrow, 4096),
              checked("memarray: the index cast to int", pair, cast, 4096), checked("plain loop", pair, plain, 4096)},
             rounds, milliseconds, 1);
  // The clock of the process counts threads that are woken, too.
  memarray::options().threads = 2;
  add_rounds(costs, "16 indices of arrays of 128 MiB, two threads permitted",
             {checked("memarray", large, few, 16), checked("memarray: small arrays", small, few, 16)}, rounds,
             milliseconds, 1);
  print(costs);
}
