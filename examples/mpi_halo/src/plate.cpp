#include "plate.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace heat {

using memarray::default_stream;
using memarray::for_each_index;
using memarray::interior;
using memarray::range;
using memarray::read;
using memarray::update;

namespace {

template <class Index>
using At = cuda::std::array<Index, 2>;
template <int ndim>
using In = memarray::ArrayIndexer<double const, ndim>;

/// The initial state: cold, with a hot left edge and warm spots, neither symmetric nor aligned to a rank's rows.
struct Begin {
  std::int64_t first_row;

  MEMARRAY_HD void operator()(double& point, cuda::std::array<std::int64_t, 2> at) const {
    std::int64_t const row = at[0] + first_row;
    bool const warm = (row * 7 + at[1] * 13) % 41 < 5;
    point = at[1] == 0 ? 1.0 : warm ? 0.5 + 0.001 * static_cast<double>((row + at[1]) % 97) : 0.0;
  }
};

/// The change of a point from its old value and those of its neighbours: one order of operations for all points.
struct Change {
  double rate;

  MEMARRAY_HD double operator()(double here, double up, double down, double left, double right) const {
    return rate * (up + down + left + right - 4.0 * here);
  }
};

struct ChangeInterior {
  Change change_of;

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In<2> own, double& change) const {
    auto const [i, j] = at;
    change = change_of(own[{i, j}], own[{i - 1, j}], own[{i + 1, j}], own[{i, j - 1}], own[{i, j + 1}]);
  }
};

/// A kernel that computes the change of a point of the first or last row.
struct ChangeBorder {
  Change change_of;

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In<2> own, In<1> above, In<1> below, double& change) const {
    auto const [i, j] = at;
    double const up = i == 0 ? above[{j}] : own[{i - 1, j}];
    double const down = i == own.shape()[0] - 1 ? below[{j}] : own[{i + 1, j}];
    change = change_of(own[{i, j}], up, down, own[{i, j - 1}], own[{i, j + 1}]);
  }
};

struct Add {
  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In<2> change, double& point) const {
    point += change[at];
  }
};

}  // namespace

Plate::Rows Plate::own_rows(std::int64_t rows, std::int64_t columns, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  if (rows < size || columns < 1) throw std::invalid_argument("Plate: every rank needs a row, and a row a column");
  if (columns > std::numeric_limits<int>::max()) throw std::invalid_argument("Plate: MPI counts columns in an int");
  auto const begin = [&](std::int64_t of) { return of * (rows / size) + std::min(of, rows % size); };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

Plate::Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm)
    : Plate(rows, columns, rate, comm, own_rows(rows, columns, comm)) {}

Plate::Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm, Rows own)
    : _comm(comm),
      _rows(rows),
      _first_row(own.first),
      _rate(rate),
      field({own.count, columns}),
      halo(columns),
      _change({own.count, columns}) {
  for_each_index(field, default_stream(), Begin{_first_row});
}

void Plate::step() {
  {
    Exchange exchange(field, halo, _comm);
    sweep_interior();
    exchange.wait();
  }
  sweep_border();
}

void Plate::sweep_interior() {
  for_each_index(interior(field.get_shape()), default_stream(), ChangeInterior{_rate}, read(field), update(_change));
}

void Plate::sweep_border() {
  auto const [rows, columns] = field.get_shape();
  auto const sweep_row = [&](std::int64_t row) {
    if (row + _first_row == 0 || row + _first_row == _rows - 1) return;  // the edge of the plate
    for_each_index(range({row, 1}, {row + 1, columns - 1}), default_stream(), ChangeBorder{_rate}, read(field),
                   read(halo.above), read(halo.below), update(_change));
  };
  sweep_row(0);
  if (rows > 1) sweep_row(rows - 1);
  for_each_index(field.get_shape(), default_stream(), Add{}, read(_change), update(field));
}

}  // namespace heat
