#include "plate.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace heat {

namespace {

template <class Index>
using At = cuda::std::array<Index, 2>;
template <int ndim>
using In = memarray::ArrayIndexer<double const, ndim>;
using Out = memarray::ArrayIndexer<double, 2>;

/// Sets the initial state: cold, with a hot left edge and warm spots, neither symmetric nor aligned to a rank's rows.
struct Begin {
  std::int64_t first_row;

  MEMARRAY_HD void operator()(double& point, cuda::std::array<std::int64_t, 2> at) const {
    std::int64_t const row = at[0] + first_row;
    bool const warm = (row * 7 + at[1] * 13) % 41 < 5;
    point = at[1] == 0 ? 1.0 : warm ? 0.5 + 0.001 * static_cast<double>((row + at[1]) % 97) : 0.0;
  }
};

struct Spread {
  std::int64_t first_row, rows;
  double rate;

  template <class Index>
  MEMARRAY_HD void operator()(At<Index> at, In<2> own, In<1> above, In<1> below, Out next) const {
    auto const [i, j] = at;
    auto const count = own.shape()[0];
    double const here = own[{i, j}];
    bool const edge = i + first_row == 0 || i + first_row == rows - 1 || j == 0 || j == own.shape()[1] - 1;
    if (edge) {
      next[{i, j}] = here;
      return;
    }
    double const up = i == 0 ? above[{j}] : own[{i - 1, j}];
    double const down = i == count - 1 ? below[{j}] : own[{i + 1, j}];
    next[{i, j}] = here + rate * (up + down + own[{i, j - 1}] + own[{i, j + 1}] - 4.0 * here);
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
      _next({own.count, columns}) {
  memarray::for_each_index(field, memarray::default_stream(), Begin{_first_row});
}

void Plate::step() {
  exchange();
  sweep();
}

void Plate::sweep() {
  memarray::for_each_index(field.get_shape(), memarray::default_stream(), Spread{_first_row, _rows, _rate},
                           memarray::read(field), memarray::read(halo.above), memarray::read(halo.below),
                           memarray::overwrite(_next));
  field.exchange(_next);
}

}  // namespace heat
