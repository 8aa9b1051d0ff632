#include "simulation.hpp"

#include <cstddef>

namespace hydro {

using memarray::default_stream;
using memarray::for_each_index;
using memarray::interior;
using memarray::overwrite;
using memarray::read;
using memarray::update;

namespace {

constexpr std::int64_t ghosts = 2;  // cells beyond the border, for the slopes
constexpr double courant = 0.5;     // cells that the fastest wave passes in a step

template <class Index>
using At = cuda::std::array<Index, 2>;
using In = memarray::ArrayIndexer<double const, 3>;
using Out = memarray::ArrayIndexer<double, 3>;
using Number = memarray::ArrayIndexer<double const, 1>;

template <class Gas>
MEMARRAY_HD Gas load(In cells, std::int64_t i, std::int64_t j) {
  double const* const cell = &cells[{i, j, 0}];
  return {cell[0], cell[1], cell[2], cell[3]};
}
template <class Gas>
MEMARRAY_HD void store(Out cells, std::int64_t i, std::int64_t j, Gas const& gas) {
  double* const cell = &cells[{i, j, 0}];
  auto const [density, along, across, last] = gas;
  cell[0] = density;
  cell[1] = along;
  cell[2] = across;
  cell[3] = last;
}

struct Fill {
  Flow gas;

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, Out cells) const {
    Conserved const all{gas.density, gas.density * gas.along, gas.density * gas.across, energy(gas)};
    store(cells, at[0], at[1], all);
  }
};

/// A kernel that computes the flow in a cell, or in a ghost: that of the cell at the other end, or a mirror image.
struct Surround {
  Border border;

  struct Source {
    std::int64_t index;
    double sign;  ///< sign of the velocity
  };
  [[nodiscard]] MEMARRAY_HD Source source(std::int64_t i, std::int64_t count) const {
    if (i >= 0 && i < count) return {i, 1};
    if (border == Border::closed) return {i < 0 ? -1 - i : 2 * count - 1 - i, -1};
    return {i < 0 ? i + count : i - count, 1};
  }

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In cells, Out flow) const {
    Source const row = source(at[0] - ghosts, cells.shape()[0]);
    Source const column = source(at[1] - ghosts, cells.shape()[1]);
    Flow gas = to_flow(load<Conserved>(cells, row.index, column.index));
    gas.along *= column.sign;
    gas.across *= row.sign;
    store(flow, at[0], at[1], gas);
  }
};

/// The sum of the speeds of the fastest waves in both directions.
struct Speed {
  template <class Index>
  MEMARRAY_HD double operator()(At<Index> at, In flow) const {
    Flow const gas = load<Flow>(flow, at[0], at[1]);
    return std::abs(gas.along) + std::abs(gas.across) + 2 * gas.sound_speed();
  }
};

struct TimeStep {
  double width, end;

  MEMARRAY_HD double operator()(double fastest, double time) const {
    return memarray::minimum{}(courant * width / fastest, end - time);
  }
};

/// A kernel that advances `from` by the fluxes through the faces, and blends the result with the cells before the step.
/// `kept` is the weight of the latter.
struct Advance {
  double kept;
  TimeStep time_step;

  enum class Axis { x, y };

  /// Returns the flux through the face between a cell and the one before it on the axis.
  template <Axis axis>
  [[nodiscard]] MEMARRAY_HD static Conserved flux(In flow, std::int64_t i, std::int64_t j) {
    Flow gas[4];
    for (int k = 0; k < 4; ++k)
      gas[k] = axis == Axis::x ? load<Flow>(flow, i, j + k - 2) : turned(load<Flow>(flow, i + k - 2, j));
    Conserved const through = flux_between(halfway(gas[0], gas[1], gas[2]), halfway(gas[3], gas[2], gas[1]));
    return axis == Axis::x ? through : turned(through);
  }

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In flow, In before, In from, Number fastest, Number time, Out to) const {
    std::int64_t const i = at[0] + ghosts;
    std::int64_t const j = at[1] + ghosts;
    Conserved const gain = (flux<Axis::x>(flow, i, j) - flux<Axis::x>(flow, i, j + 1)) +
                           (flux<Axis::y>(flow, i, j) - flux<Axis::y>(flow, i + 1, j));
    double const ratio = time_step(fastest[{0}], time[{0}]) / time_step.width;
    Conserved const old = load<Conserved>(before, at[0], at[1]);
    store(to, at[0], at[1], kept * old + (1 - kept) * (load<Conserved>(from, at[0], at[1]) + ratio * gain));
  }
};

struct Tick {
  TimeStep time_step;

  MEMARRAY_HD void operator()(std::int64_t, Number fastest, double& time) const {
    time += time_step(fastest[{0}], time);
  }
};

struct Load {
  template <class Index>
  MEMARRAY_HD Conserved operator()(At<Index> at, In cells) const {
    return load<Conserved>(cells, at[0], at[1]);
  }
};

}  // namespace

Simulation::Simulation(std::int64_t rows, std::int64_t columns, double width, Border border)
    : cells({rows, columns, 4}),
      _rows(rows),
      _columns(columns),
      _width(width),
      _border(border),
      _flow({rows + 2 * ghosts, columns + 2 * ghosts, 4}),
      _middle({rows, columns, 4}),
      _next({rows, columns, 4}),
      _fastest({1}),
      _time({1}) {
  if (rows < ghosts || columns < ghosts) throw memarray::ValueError("a box has at least 2 rows and 2 columns");
  if (!(width > 0)) throw memarray::ValueError("the width of a cell is positive");
  for_each_index({rows, columns}, default_stream(), Fill{{1, 0, 0, 1}}, overwrite(cells));
}

void Simulation::step(double end) {
  auto const stream = default_stream();
  surround(cells);
  memarray::transform_reduce_into(_fastest, interior({_rows + 2 * ghosts, _columns + 2 * ghosts}, ghosts), stream, 0.0,
                                  memarray::maximum{}, Speed{}, read(_flow));
  advance(cells, 0, _middle, end);
  surround(_middle);
  advance(_middle, 0.5, _next, end);
  cells.exchange(_next);
  for_each_index({1}, stream, Tick{{_width, end}}, read(_fastest), update(_time));
}

void Simulation::surround(memarray::MemArray<double, 3> const& from) {
  for_each_index({_rows + 2 * ghosts, _columns + 2 * ghosts}, default_stream(), Surround{_border}, read(from),
                 overwrite(_flow));
}

void Simulation::advance(memarray::MemArray<double, 3> const& from, double kept, memarray::MemArray<double, 3>& to,
                         double end) {
  for_each_index({_rows, _columns}, default_stream(), Advance{kept, {_width, end}}, read(_flow), read(cells),
                 read(from), read(_fastest), read(_time), overwrite(to));
}

double Simulation::time() const {
  return memarray::sum(_time, default_stream());  // runs where the array is, and only one number comes to the host
}

Conserved Simulation::total() const {
  Conserved const density = memarray::transform_reduce({_rows, _columns}, default_stream(), Conserved{},
                                                       memarray::plus{}, Load{}, read(cells));
  return _width * _width * density;
}

void Simulation::move_to(int device_id) {
  DLDeviceType const where = device_id < 0 ? kDLCPU : kDLCUDA;
  auto const move = [&](auto&... arrays) { (arrays.move_memory(where, 0, device_id < 0 ? 0 : device_id), ...); };
  move(cells, _flow, _middle, _next, _fastest, _time);
}

}  // namespace hydro
