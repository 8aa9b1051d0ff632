// Compares a step of heat on a plate, as in the guide "Writing a simulation". Also compares a launch over an interior
// with one over whole arrays of as many elements. `stencil ROUNDS MILLISECONDS` prints the seconds of one call in each
// round.
#include <memarray/memarray.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "rounds.hpp"

namespace {

using memarray::read;
using memarray::update;

constexpr double rate = 0.1;

struct Plate {
  std::int64_t side;
  memarray::MemArray<double, 2> heat{{side, side}}, change{{side, side}};
  memarray::StreamHandle stream = memarray::default_stream();
  double* heat_data = heat.ptr();
  double* change_data = change.ptr();

  explicit Plate(std::int64_t length) : side(length) { start(); }

  void start() {
    change.fill(0);
    for (std::int64_t k = 0; k < side * side; ++k) heat_data[k] = static_cast<double>(k % 13);
  }
};

constexpr auto add = [](auto const& at, auto change, double& heat) { heat += change[at]; };

void ours(Plate& p) {
  memarray::for_each_index(
      memarray::interior(p.heat.get_shape()), p.stream,
      [](auto const& at, auto heat, double& change) {
        auto const [i, j] = at;
        change = rate * (heat[{i - 1, j}] + heat[{i + 1, j}] + heat[{i, j - 1}] + heat[{i, j + 1}] - 4 * heat[{i, j}]);
      },
      read(p.heat), update(p.change));
  memarray::for_each_index(p.heat.get_shape(), p.stream, add, read(p.change), update(p.heat));
}

void change_row(double const* heat, double* change, std::int64_t i, std::int64_t side) {
  for (std::int64_t k = i * side + 1; k < (i + 1) * side - 1; ++k)
    change[k] = rate * (heat[k - side] + heat[k + side] + heat[k - 1] + heat[k + 1] - 4 * heat[k]);
}

void plain(Plate& p) {
  double *const heat = p.heat_data, *const change = p.change_data;
  std::int64_t const side = p.side;
  for (std::int64_t i = 1; i < side - 1; ++i) change_row(heat, change, i, side);
  for (std::int64_t k = 0; k < side * side; ++k) heat[k] += change[k];
}

#ifdef _OPENMP
void openmp(Plate& p) {
  double *const heat = p.heat_data, *const change = p.change_data;
  std::int64_t const side = p.side;
#pragma omp parallel for num_threads(1)
  for (std::int64_t i = 1; i < side - 1; ++i) change_row(heat, change, i, side);
#pragma omp parallel for num_threads(1)
  for (std::int64_t k = 0; k < side * side; ++k) heat[k] += change[k];
}
#endif

void whole(Plate& p) { memarray::for_each_index(p.heat.get_shape(), p.stream, add, read(p.change), update(p.heat)); }
void inside(Plate& p) {
  memarray::for_each_index(memarray::interior(p.heat.get_shape()), p.stream, add, read(p.change), update(p.heat));
}

/// Adds the rows of the interior by hand: the least that a loop over part of each row costs.
void rows(Plate& p) {
  double *const heat = p.heat_data, *const change = p.change_data;
  std::int64_t const side = p.side;
  for (std::int64_t i = 1; i < side - 1; ++i) {
    double* const to = heat + i * side;
    double const* const from = change + i * side;
    for (std::int64_t j = 1; j < side - 1; ++j) to[j] += from[j];
  }
}

/// Ends the program unless two steps give the results of two plain ones.
void check(std::string const& what, void (*step)(Plate&)) {
  Plate found(100), expected(100);
  for (int i = 0; i < 2; ++i) step(found), plain(expected);
  for (std::int64_t k = 0; k < found.side * found.side; ++k) {
    if (std::abs(found.heat_data[k] - expected.heat_data[k]) < 1e-12) continue;
    std::fprintf(stderr, "stencil: %s computes something else\n", what.c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: stencil ROUNDS MILLISECONDS\n");
    return 2;
  }
  int const rounds = std::atoi(argv[1]), milliseconds = std::atoi(argv[2]);
  memarray::options().threads = 1;
  Plate plate(100), smaller(98);
  std::vector<Contender> steps;
  auto const add_step = [&](char const* name, void (*step)(Plate&)) {
    check(name, step);
    steps.push_back(contender(name, [&plate, step] { step(plate); }));
  };
  add_step("memarray", ours);
  add_step("plain loop", plain);
#ifdef _OPENMP
  add_step("OpenMP, one thread", openmp);
#endif
  Costs costs;
  add_rounds(costs, "a step of heat, 100×100", steps, rounds, milliseconds, 1);
  add_rounds(costs, "a launch over 98×98 elements, the interior of 100×100",
             {contender("memarray", [&] { inside(plate); }),
              contender("floor: a plain loop over each row", [&] { rows(plate); }),
              contender("memarray: whole arrays of 98×98", [&] { whole(smaller); })},
             rounds, milliseconds, 1);
  print(costs);
}
