// Compares a step of many small loops, as hydrodynamics codes have them: 40 launches over one mesh under one `hold`.
// `proxy ROUNDS MILLISECONDS` prints the seconds of one step in each round.
#include <memarray/memarray.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "rounds.hpp"

namespace {

/// A periodic mesh of as many elements as nodes. Vectors are stored one component after the other. `corners`: the eight
/// nodes of each element; `around`: the eight elements of each node.
template <template <class, int> class Array>
struct Mesh {
  Array<double, 1> displacement, velocity, force, mean, divergence;                // three for each node or element
  Array<double, 1> strain, volume, change, compression, viscosity, energy, trial;  // one for each element
  Array<double, 1> pressure, half, sound, time_step;
  Array<std::int32_t, 1> corners, around;
  MEMARRAY_BUNDLE(displacement, velocity, force, mean, divergence, strain, volume, change, compression, viscosity,
                  energy, trial, pressure, half, sound, time_step, corners, around)
};

template <class T, int>
using Pointer = T*;

constexpr double dt = 1e-3, gamma = 1.4, linear = 0.5, quadratic = 1.5, hourglass = 0.05;

/// Returns the sign of corner `c` in dimension `d`.
MEMARRAY_HD double sign(int c, int d) { return (c >> d) & 1 ? 1 : -1; }

MEMARRAY_HD double equation_of_state(double compression, double energy) {
  double const pressure = (gamma - 1) * (1 + compression) * energy;
  return pressure < 1e-9 ? 0 : pressure;
}

/// Computes one step of `n` elements, with 8 loops for each dimension and 16 others. `each(f)` calls `f(i, mesh)` for
/// each element or node.
template <class Each>
void step(std::int64_t n, Each const& each) {
  for (int d = 0; d < 3; ++d) {
    std::int64_t const from = d * n;
    each([=](std::int64_t i, auto const& m) { m.force[from + i] = 0.01 * ((i + d) % 5 - 2.0); });
    each([=](std::int64_t i, auto const& m) {
      double sum = 0;
      for (int c = 0; c < 8; ++c) {
        auto const e = m.around[8 * i + c];
        sum += sign(c, d) * (m.pressure[e] + m.viscosity[e]);
      }
      m.force[from + i] += sum / 4;
    });
    each([=](std::int64_t i, auto const& m) {
      double sum = 0;
      for (int c = 0; c < 8; ++c) sum += m.velocity[from + m.corners[8 * i + c]];
      m.mean[from + i] = sum / 8;
    });
    each([=](std::int64_t i, auto const& m) {
      double sum = 0;
      for (int c = 0; c < 8; ++c) sum += m.mean[from + m.around[8 * i + c]];
      m.force[from + i] += hourglass * (sum / 8 - m.velocity[from + i]);
    });
    each([=](std::int64_t i, auto const& m) { m.velocity[from + i] += dt * m.force[from + i]; });
    each([=](std::int64_t i, auto const& m) {
      double const v = m.velocity[from + i];
      m.velocity[from + i] = std::abs(v) < 1e-12 ? 0 : v;
    });
    each([=](std::int64_t i, auto const& m) { m.displacement[from + i] += dt * m.velocity[from + i]; });
    each([=](std::int64_t i, auto const& m) {
      double sum = 0;
      for (int c = 0; c < 8; ++c) sum += sign(c, d) * m.velocity[from + m.corners[8 * i + c]];
      m.divergence[from + i] = sum / 4;
    });
  }
  each([=](std::int64_t i, auto const& m) {
    m.strain[i] = m.divergence[i] + m.divergence[n + i] + m.divergence[2 * n + i];
  });
  each([](std::int64_t i, auto const& m) { m.change[i] = dt * m.strain[i] * m.volume[i]; });
  each([](std::int64_t i, auto const& m) { m.volume[i] += m.change[i]; });
  each([](std::int64_t i, auto const& m) { m.volume[i] = std::abs(m.volume[i] - 1) < 1e-12 ? 1 : m.volume[i]; });
  each([](std::int64_t i, auto const& m) { m.compression[i] = 1 / m.volume[i] - 1; });
  each([](std::int64_t i, auto const& m) {
    m.trial[i] = m.energy[i] - 0.5 * m.change[i] * (m.pressure[i] + m.viscosity[i]);
  });
  each([](std::int64_t i, auto const& m) { m.half[i] = 1 / (m.volume[i] - 0.5 * m.change[i]) - 1; });
  each([](std::int64_t i, auto const& m) { m.half[i] = equation_of_state(m.half[i], m.trial[i]); });
  each([](std::int64_t i, auto const& m) {
    m.viscosity[i] = m.strain[i] < 0 ? quadratic * m.strain[i] * m.strain[i] - linear * m.sound[i] * m.strain[i] : 0;
  });
  each([](std::int64_t i, auto const& m) { m.trial[i] -= 0.5 * m.change[i] * (m.half[i] + m.viscosity[i]); });
  each([](std::int64_t i, auto const& m) { m.trial[i] = m.trial[i] < 1e-6 ? 1e-6 : m.trial[i]; });
  each([](std::int64_t i, auto const& m) { m.pressure[i] = equation_of_state(m.compression[i], m.trial[i]); });
  each([](std::int64_t i, auto const& m) { m.energy[i] = m.trial[i]; });
  each([](std::int64_t i, auto const& m) { m.sound[i] = gamma * m.pressure[i] * m.volume[i]; });
  each([](std::int64_t i, auto const& m) { m.sound[i] = std::sqrt(m.sound[i]); });
  each([](std::int64_t i, auto const& m) { m.time_step[i] = 1 / (m.sound[i] + std::abs(m.strain[i]) + 1e-9); });
}

struct State {
  std::int64_t n;
  Mesh<memarray::MemArray> arrays;
  Mesh<Pointer> pointers{};

  explicit State(std::int64_t side)
      : n(side * side * side),
        arrays{Doubles({3 * n}), Doubles({3 * n}), Doubles({3 * n}), Doubles({3 * n}), Doubles({3 * n}),
               Doubles({n}),     Doubles({n}),     Doubles({n}),     Doubles({n}),     Doubles({n}),
               Doubles({n}),     Doubles({n}),     Doubles({n}),     Doubles({n}),     Doubles({n}),
               Doubles({n}),     Indices({8 * n}), Indices({8 * n})} {
    point(arrays.members(), pointers.members(), std::make_index_sequence<18>());
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t const at[] = {i % side, i / side % side, i / side / side};
      for (int c = 0; c < 8; ++c) {
        std::int64_t next = 0, before = 0;
        for (int d = 2; d >= 0; --d) {
          std::int64_t const one = (c >> d) & 1;
          next = next * side + (at[d] + one) % side;
          before = before * side + (at[d] + side - one) % side;
        }
        pointers.corners[8 * i + c] = static_cast<std::int32_t>(next);
        pointers.around[8 * i + c] = static_cast<std::int32_t>(before);
      }
      pointers.volume[i] = 1;
      pointers.energy[i] = 1 + 0.1 * static_cast<double>(i % 7);
      pointers.pressure[i] = equation_of_state(0, pointers.energy[i]);
      pointers.sound[i] = std::sqrt(gamma * pointers.pressure[i]);
    }
  }

 private:
  using Doubles = memarray::MemArray<double, 1>;
  using Indices = memarray::MemArray<std::int32_t, 1>;

  template <class From, class To, std::size_t... member>
  static void point(From const& from, To const& to, std::index_sequence<member...>) {
    ((std::get<member>(to) = std::get<member>(from).ptr()), ...);
  }
};

void ours(State& state) {
  std::int64_t const n = state.n;
  auto held = memarray::hold(memarray::write(state.arrays));
  step(n, [&](auto const& f) { held.for_each_index({n}, f); });
}
void plain(State& state) {
  Mesh<Pointer> const mesh = state.pointers;
  std::int64_t const n = state.n;
  step(n, [&](auto const& f) {
    for (std::int64_t i = 0; i < n; ++i) f(i, mesh);
  });
}
#ifdef _OPENMP
void openmp(State& state) {
  Mesh<Pointer> const mesh = state.pointers;
  std::int64_t const n = state.n;
  step(n, [&](auto const& f) {
#pragma omp parallel for num_threads(1)
    for (std::int64_t i = 0; i < n; ++i) f(i, mesh);
  });
}
#endif

/// Ends the program unless some steps give the results of plain ones.
void check(std::string const& what, std::int64_t side, void (*run)(State&)) {
  State found(side), expected(side);
  bool right = true;
  for (int i = 0; i < 5; ++i) run(found), plain(expected);
  for (std::int64_t i = 0; i < found.n; ++i) {
    double const energy = found.pointers.energy[i], speed = found.pointers.velocity[i];
    right = right && std::abs(energy - expected.pointers.energy[i]) < 1e-12 && energy != 1 && speed != 0;
    right = right && std::abs(speed - expected.pointers.velocity[i]) < 1e-12;
  }
  if (right) return;
  std::fprintf(stderr, "proxy: %s computes something else\n", what.c_str());
  std::exit(1);
}

void measure(Costs& costs, char const* name, std::int64_t side, int rounds, int milliseconds) {
  State state(side);
  std::vector<Contender> contenders;
  auto const add = [&](char const* way, void (*run)(State&)) {
    check(way, side, run);
    contenders.push_back(contender(way, [&state, run] { run(state); }));
  };
  add("memarray", ours);
  add("plain loop", plain);
#ifdef _OPENMP
  add("OpenMP, one thread", openmp);
#endif
  add_rounds(costs, name, contenders, rounds, milliseconds, 1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: proxy ROUNDS MILLISECONDS\n");
    return 2;
  }
  int const rounds = std::atoi(argv[1]), milliseconds = std::atoi(argv[2]);
  memarray::options().threads = 1;
  Costs costs;
  measure(costs, "1,000 elements", 10, rounds, milliseconds);
  measure(costs, "27,000 elements", 30, rounds, milliseconds);
  print(costs);
}
