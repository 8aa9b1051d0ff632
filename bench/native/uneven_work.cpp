// Compares loops whose indices cost unevenly, in one program. `uneven_work THREADS ROUNDS` prints the seconds of one
// loop in each round.
#include <memarray/memarray.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "rounds.hpp"

namespace {

double sines(std::int64_t index, std::int64_t count) {
  double sum = 0, x = static_cast<double>(index);
  for (std::int64_t i = 0; i < count; ++i) sum += std::sin(x += 0.001);
  return sum;
}

/// Work whose first index is cheap, so that its time predicts nothing.
struct CheapFirst {
  static constexpr char const* name = "64 indices of 20,000 sines, the first of one";
  static constexpr std::int64_t size = 64;
  static std::int64_t count(std::int64_t index) { return index == 0 ? 1 : 20'000; }
};

struct Triangle {
  static constexpr char const* name = "256 indices, index i of 50·i sines";
  static constexpr std::int64_t size = 256;
  static std::int64_t count(std::int64_t index) { return 50 * index; }
};

template <class Work>
struct Loops {
  memarray::MemArray<double, 1> array{{Work::size}};
  memarray::StreamHandle stream = memarray::default_stream();
  double* data = array.ptr();
  int threads;

  explicit Loops(int thread_count) : threads(thread_count) {}

  void ours() {
    memarray::for_each_index(
        {Work::size}, stream, [](std::int64_t i, auto a) { a[{i}] = sines(i, Work::count(i)); }, overwrite(array));
  }
  void reduced() {
    auto const sum = memarray::transform_reduce(
        {Work::size}, stream, 0.0, memarray::plus{},
        [](std::int64_t i, auto a) { return a[{i}] = sines(i, Work::count(i)); }, overwrite(array));
    if (std::isnan(sum)) std::exit(1);
  }
  void plain() {
    for (std::int64_t i = 0; i < Work::size; ++i) data[i] = sines(i, Work::count(i));
  }
  /// Gives two threads indices of the same cost, with nothing to decide while they run.
  void by_hand() {
    auto const half = [this](std::int64_t which) {
      for (std::int64_t i = 0; i < Work::size; ++i)
        if ((i + 1) / 2 % 2 == which) data[i] = sines(i, Work::count(i));
    };
    std::jthread const other([&] { half(1); });
    half(0);
  }
  void openmp_dynamic() {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (std::int64_t i = 0; i < Work::size; ++i) data[i] = sines(i, Work::count(i));
  }
  void openmp_static() {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < Work::size; ++i) data[i] = sines(i, Work::count(i));
  }
};

/// Ends the program unless a loop stores the results of a plain one.
template <class Work>
void check(Loops<Work>& loops, void (Loops<Work>::*run)(), char const* name) {
  std::fill_n(loops.data, Work::size, -1.0);
  (loops.*run)();
  for (std::int64_t i = 0; i < Work::size; ++i) {
    if (std::abs(loops.data[i] - sines(i, Work::count(i))) < 1e-9) continue;
    std::fprintf(stderr, "uneven_work: %s computes something else\n", name);
    std::exit(1);
  }
}

template <class Work>
void measure(Costs& costs, int threads, int rounds) {
  Loops<Work> loops(threads);
  std::vector<std::pair<char const*, void (Loops<Work>::*)()>> ways = {
      {"memarray", &Loops<Work>::ours},
      {"transform_reduce of memarray", &Loops<Work>::reduced},
      {"plain loop, one thread", &Loops<Work>::plain},
#ifdef _OPENMP
      {"OpenMP, schedule(dynamic)", &Loops<Work>::openmp_dynamic},
      {"OpenMP, schedule(static)", &Loops<Work>::openmp_static},
#endif
  };
  if (threads == 2)
    ways.emplace_back("floor: the same cost for each of two threads, given by hand", &Loops<Work>::by_hand);
  std::vector<Contender> contenders;
  for (auto const& [name, run] : ways) {
    check(loops, run, name);
    contenders.push_back(contender(name, [&loops, run] { (loops.*run)(); }));
  }
  add_rounds(costs, Work::name, contenders, rounds, 1, threads);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: uneven_work THREADS ROUNDS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), rounds = std::atoi(argv[2]);
  memarray::options().threads = threads;
  Costs costs;
  measure<CheapFirst>(costs, threads, rounds);
  measure<Triangle>(costs, threads, rounds);
  print(costs);
}
