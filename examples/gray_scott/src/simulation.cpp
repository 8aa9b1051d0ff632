#include "simulation.hpp"

#include <cmath>

namespace gray_scott_core {

using memarray::default_stream;
using memarray::for_each_index;
using memarray::overwrite;
using memarray::read;
using memarray::transform_reduce;

namespace {

using In = memarray::ArrayIndexer<double const, 3>;
using Out = memarray::ArrayIndexer<double, 3>;
constexpr double spread_u = 0.16;
constexpr double spread_v = 0.08;

/// A kernel that computes the next value of one element. The index type is a template parameter: 32-bit where the grid
/// allows.
struct React {
  double feed, kill;

  template <class Index>
  MEMARRAY_HD void operator()(cuda::std::array<Index, 3> at, In now, Out next) const {
    auto const [field, i, j] = at;
    double const u = now[{0, i, j}];
    double const v = now[{1, i, j}];
    double const spread = around(now, at) - 4 * now[at];
    next[at] = field == 0 ? u + spread_u * spread - u * v * v + feed * (1 - u)
                          : v + spread_v * spread + u * v * v - (feed + kill) * v;
  }

  /// Returns the sum of the four neighbours, with periodic boundaries.
  template <class Index>
  MEMARRAY_HD static double around(In const& now, cuda::std::array<Index, 3> at) {
    auto const [field, i, j] = at;
    auto const rows = static_cast<Index>(now.shape()[1]);
    auto const columns = static_cast<Index>(now.shape()[2]);
    Index const above = i == 0 ? rows - 1 : i - 1;
    Index const below = i == rows - 1 ? 0 : i + 1;
    Index const left = j == 0 ? columns - 1 : j - 1;
    Index const right = j == columns - 1 ? 0 : j + 1;
    return now[{field, above, j}] + now[{field, below, j}] + now[{field, i, left}] + now[{field, i, right}];
  }
};

/// The initial state: a central square where half of u is replaced by a quarter of v.
struct Seed {
  std::int64_t rows, columns;

  template <class Index>
  MEMARRAY_HD void operator()(cuda::std::array<Index, 3> at, Out fields) const {
    auto const [field, i, j] = at;
    bool const inside = i >= 3 * rows / 8 && i < 5 * rows / 8 && j >= 3 * columns / 8 && j < 5 * columns / 8;
    fields[at] = field == 0 ? (inside ? 0.5 : 1.0) : (inside ? 0.25 : 0.0);
  }
};

struct Difference {
  template <class Index>
  MEMARRAY_HD double operator()(cuda::std::array<Index, 3> at, In a, In b) const {
    return std::abs(a[at] - b[at]);
  }
};

}  // namespace

Simulation::Simulation(std::int64_t rows, std::int64_t columns, double feed, double kill)
    : fields({2, rows, columns}), _next({2, rows, columns}), _feed(feed), _kill(kill) {
  if (rows < 8 || columns < 8) throw memarray::ValueError("a grid has at least 8 rows and 8 columns");
  for (auto* array : {&fields, &_next})
    for_each_index(array->get_shape(), default_stream(), Seed{rows, columns}, overwrite(*array));
}

void Simulation::step() {
  for_each_index(fields.get_shape(), default_stream(), React{_feed, _kill}, read(fields), overwrite(_next));
  fields.exchange(_next);
}

double Simulation::mean_v() const {
  auto const v = fields.view().slice(0, {.start = 1});
  // The sum runs where the array is, and only one number is copied to the host.
  return v.sum().to_device({kDLCPU, 0}).as<double const, 0>()() / static_cast<double>(v.size());
}

double Simulation::largest_change() const {
  // After a step, `_next` has the fields before it.
  return transform_reduce(fields.get_shape(), default_stream(), 0.0, memarray::maximum{}, Difference{}, read(fields),
                          read(_next));
}

void Simulation::move_to(int device_id) {
  DLDeviceType const where = device_id < 0 ? kDLCPU : kDLCUDA;
  for (auto* array : {&fields, &_next}) array->move_memory(where, 0, device_id < 0 ? 0 : device_id);
}

}  // namespace gray_scott_core
