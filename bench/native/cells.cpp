// Compares two ways to sort particles into cells, as each step of the demo does. `cells THREADS ROUNDS MILLISECONDS`
// prints the seconds of one sort in each round.
#include <memarray/memarray.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rounds.hpp"

namespace {

using memarray::for_each_index, memarray::MemArray, memarray::overwrite, memarray::read, memarray::write;
template <class T>
using In = memarray::ArrayIndexer<T const, 1>;
template <class T>
using Out = memarray::ArrayIndexer<T, 1>;

struct Grid {
  double box;
  std::int64_t per_side;

  [[nodiscard]] std::int64_t cells() const { return per_side * per_side * per_side; }
  [[nodiscard]] std::int64_t cell_of(memarray::ArrayIndexer<double const, 2> const& positions, std::int64_t i) const {
    std::int64_t cell = 0;
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      auto const along = static_cast<std::int64_t>(positions[{i, axis}] / box * static_cast<double>(per_side));
      cell = cell * per_side + (along < per_side ? along : per_side - 1);
    }
    return cell;
  }
};

/// Returns the first slot of this cell or a later one.
std::int64_t first_slot_of(In<std::int64_t> const& cell_of_slot, std::int64_t cell) {
  std::int64_t first = 0;
  for (std::int64_t count = cell_of_slot.size(); count > 0;) {
    std::int64_t const half = count / 2;
    bool const is_before = cell_of_slot[first + half] < cell;
    first = is_before ? first + half + 1 : first;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

/// `4 · side³` particles with the density and the cut-off of the demo. Their order is unrelated to their positions.
struct Particles {
  std::int64_t count;
  Grid grid;
  MemArray<double, 2> positions{{count, 3}};
  MemArray<std::int64_t, 1> order{{count}}, cell_of_slot{{count}};
  MemArray<std::int64_t, 1> first_slot{{grid.cells()}}, density{{grid.cells()}}, next_slot{{grid.cells()}};
  memarray::StreamHandle stream = memarray::default_stream();

  explicit Particles(std::int64_t side) : count(4 * side * side * side), grid(grid_of(count)) {
    std::mt19937_64 generator(1);
    std::uniform_real_distribution<double> place(0, grid.box);
    double* const each = positions.ptr();
    for (std::int64_t i = 0; i < 3 * count; ++i) each[i] = place(generator);
  }

  void by_keys() {
    for_each_index(
        {count}, stream,
        [own = grid](std::int64_t i, auto positions, auto cell_of_slot, auto order) {
          cell_of_slot[i] = own.cell_of(positions, i);
          order[i] = i;
        },
        read(positions), overwrite(cell_of_slot), overwrite(order));
    memarray::sort_by_key(cell_of_slot, order, stream);
    for_each_index(
        {grid.cells()}, stream,
        [](std::int64_t cell, auto cell_of_slot, auto first_slot, auto density) {
          std::int64_t const first = first_slot_of(cell_of_slot, cell);
          std::int64_t end = first;
          while (end < cell_of_slot.size() && cell_of_slot[end] == cell) ++end;
          first_slot[cell] = first;
          density[cell] = end - first;
        },
        read(cell_of_slot), overwrite(first_slot), overwrite(density));
  }

  void by_atomics() {
    for_each_index(
        {grid.cells()}, stream, [](std::int64_t cell, auto density) { density[cell] = 0; }, overwrite(density));
    for_each_index(
        {count}, stream,
        [own = grid](std::int64_t i, auto positions, auto density) {
          memarray::atomic_add(density[own.cell_of(positions, i)], std::int64_t{1});
        },
        read(positions), write(density));
    memarray::exclusive_scan(density, first_slot, stream);
    for_each_index(
        {grid.cells()}, stream, [](std::int64_t cell, auto from, auto to) { to[cell] = from[cell]; }, read(first_slot),
        overwrite(next_slot));
    for_each_index(
        {count}, stream,
        [own = grid](std::int64_t i, auto positions, auto next_slot, auto order) {
          order[memarray::atomic_add(next_slot[own.cell_of(positions, i)], std::int64_t{1})] = i;
        },
        read(positions), write(next_slot), overwrite(order));
    // Slots within a cell depend on timing; forces are to be added in one order.
    for_each_index({grid.cells()}, stream, &Particles::sort_within, read(first_slot), read(density), write(order));
  }

 private:
  static Grid grid_of(std::int64_t count) {
    double const box = std::cbrt(static_cast<double>(count) / 0.8442);
    return {box, static_cast<std::int64_t>(box / 2.5)};
  }
  static void sort_within(std::int64_t cell, In<std::int64_t> first_slot, In<std::int64_t> density,
                          Out<std::int64_t> order) {
    std::int64_t const first = first_slot[cell], end = first + density[cell];
    for (std::int64_t slot = first + 1; slot < end; ++slot) {
      std::int64_t const particle = order[slot];
      std::int64_t hole = slot;
      for (; hole > first && order[hole - 1] > particle; --hole) order[hole] = order[hole - 1];
      order[hole] = particle;
    }
  }
};

std::vector<std::int64_t> values_of(MemArray<std::int64_t, 1> const& array) {
  return {array.ptr(), array.ptr() + array.get_shape()[0]};
}

/// Ends the program unless both ways give the same slots.
void check(Particles& particles) {
  particles.by_keys();
  auto const order = values_of(particles.order), first = values_of(particles.first_slot);
  particles.by_atomics();
  if (order == values_of(particles.order) && first == values_of(particles.first_slot)) return;
  std::fprintf(stderr, "cells: the two ways compute different slots\n");
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: cells THREADS ROUNDS MILLISECONDS\n");
    return 2;
  }
  int const threads = std::atoi(argv[1]), rounds = std::atoi(argv[2]), milliseconds = std::atoi(argv[3]);
  memarray::options().threads = threads;
  Costs costs;
  for (auto const& [name, side] : {std::pair{"864 particles", 6}, std::pair{"32,000 particles", 20}}) {
    Particles particles(side);
    check(particles);
    add_rounds(costs, name,
               {contender("memarray", [&particles] { particles.by_keys(); }),
                contender("memarray: slots by atomics, sorted within cells", [&particles] { particles.by_atomics(); })},
               rounds, milliseconds, threads);
  }
  print(costs);
}
