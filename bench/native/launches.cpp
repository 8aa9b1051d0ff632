// Compares launches over eight elements, where the call costs more than its work, in one program. `launches ROUNDS
// MILLISECONDS` prints the seconds of one call in each round.
#include <memarray/memarray.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "rounds.hpp"

namespace {

using memarray::read;
using memarray::update;
using Array = memarray::MemArray<double, 1>;

constexpr std::int64_t size = 8;

struct Arrays {
  Array a{{size}}, b{{size}}, c{{size}}, d{{size}}, e{{size}}, g{{size}};
  memarray::StreamHandle stream = memarray::default_stream();

  Arrays() {
    for (Array* const each : {&a, &b, &c, &d, &e, &g}) each->fill(1);
  }
};

void one(Arrays& f) {
  memarray::for_each_index({size}, f.stream, [](std::int64_t, double& g) { g += 1; }, update(f.g));
}
void two(Arrays& f) {
  memarray::for_each_index(
      {size}, f.stream, [](auto const& i, auto a, double& g) { g += a[i]; }, read(f.a), update(f.g));
}
void six(Arrays& f) {
  memarray::for_each_index(
      {size}, f.stream,
      [](auto const& i, auto a, auto b, auto c, auto d, auto e, double& g) { g += a[i] + b[i] + c[i] + d[i] + e[i]; },
      read(f.a), read(f.b), read(f.c), read(f.d), read(f.e), update(f.g));
}

/// The arguments of the loops by hand. The pointers are read from memory, like those of a caller's arrays.
struct Pointers {
  double const *a, *b, *c, *d, *e;
  double* g;
  std::int64_t size;
};

void plain_one(Pointers const& f) {
  double* const g = f.g;
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += 1;
}
void plain_two(Pointers const& f) {
  double const* const a = f.a;
  double* const g = f.g;
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += a[i];
}
void plain_six(Pointers const& f) {
  double const *const a = f.a, *const b = f.b, *const c = f.c, *const d = f.d, *const e = f.e;
  double* const g = f.g;
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += a[i] + b[i] + c[i] + d[i] + e[i];
}

#ifdef _OPENMP
void openmp_one(Pointers const& f) {
  double* const g = f.g;
#pragma omp parallel for num_threads(1)
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += 1;
}
void openmp_two(Pointers const& f) {
  double const* const a = f.a;
  double* const g = f.g;
#pragma omp parallel for num_threads(1)
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += a[i];
}
void openmp_six(Pointers const& f) {
  double const *const a = f.a, *const b = f.b, *const c = f.c, *const d = f.d, *const e = f.e;
  double* const g = f.g;
#pragma omp parallel for num_threads(1)
  for (std::int64_t i = 0; i < f.size; ++i) g[i] += a[i] + b[i] + c[i] + d[i] + e[i];
}
#endif

/// A lock word for each array. The last array of a launch is written, the others are read.
struct Locks {
  std::atomic<std::uint64_t> words[6] = {};
};

/// Acquires and releases the lock words around the loop: the least that a launch over locked arrays does.
void locked(Locks& locks, std::size_t arrays, void (*loop)(Pointers const&), Pointers const& f) {
  constexpr std::uint64_t writer = std::uint64_t{1} << 32;
  std::atomic<std::uint64_t>& written = locks.words[arrays - 1];
  for (std::size_t i = 0; i + 1 < arrays; ++i)
    while (locks.words[i].fetch_add(1, std::memory_order_acquire) >= writer) locks.words[i].fetch_sub(1);
  std::uint64_t free = 0;
  while (!written.compare_exchange_weak(free, writer, std::memory_order_acquire)) free = 0;
  loop(f);
  written.fetch_sub(writer, std::memory_order_release);
  for (std::size_t i = 0; i + 1 < arrays; ++i) locks.words[i].fetch_sub(1, std::memory_order_release);
}

/// Ends the program unless one call adds `expected` to each element.
template <class Call>
void check(Arrays& arrays, std::string const& what, double expected, Call const& call) {
  arrays.g.fill(1);
  call();
  double const* const g = std::as_const(arrays.g).ptr();
  for (std::int64_t i = 0; i < size; ++i) {
    if (g[i] == 1 + expected) continue;
    std::fprintf(stderr, "launches: %s computes something else\n", what.c_str());
    std::exit(1);
  }
}

struct Case {
  char const* name;
  std::size_t arrays;
  double added;
  void (*ours)(Arrays&);
  void (*plain)(Pointers const&);
  void (*openmp)(Pointers const&);
};

#ifdef _OPENMP
constexpr Case cases[] = {
    {"one array", 1, 1, one, plain_one, openmp_one},
    {"two arrays", 2, 1, two, plain_two, openmp_two},
    {"six arrays", 6, 5, six, plain_six, openmp_six},
};
#else
constexpr Case cases[] = {
    {"one array", 1, 1, one, plain_one, nullptr},
    {"two arrays", 2, 1, two, plain_two, nullptr},
    {"six arrays", 6, 5, six, plain_six, nullptr},
};
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: launches ROUNDS MILLISECONDS\n");
    return 2;
  }
  int const rounds = std::atoi(argv[1]), milliseconds = std::atoi(argv[2]);
  memarray::options().threads = 1;
  Arrays arrays;
  Pointers const pointers{
      arrays.a.ptr(), arrays.b.ptr(), arrays.c.ptr(), arrays.d.ptr(), arrays.e.ptr(), arrays.g.ptr(), size};
  Locks locks;
  Costs costs;
  for (Case const& each : cases) {
    std::vector<Contender> contenders;
    auto const add = [&](char const* name, auto call) {
      check(arrays, std::string(each.name) + " by " + name, each.added, call);
      contenders.push_back(contender(name, call));
    };
    add("memarray", [&arrays, run = each.ours] { run(arrays); });
    add("plain loop", [&pointers, run = each.plain] { run(pointers); });
    add("floor: a lock word an array, and the loop",
        [&pointers, &locks, &each] { locked(locks, each.arrays, each.plain, pointers); });
    if (each.openmp) add("OpenMP, one thread", [&pointers, run = each.openmp] { run(pointers); });
    contenders.push_back({"memarray, two threads permitted", [shared = contenders[0].run](long times) {
                            memarray::options().threads = 2;
                            shared(times);
                            memarray::options().threads = 1;
                          }});
    add_rounds(costs, each.name, contenders, rounds, milliseconds, 1);
  }
  print(costs);
}
