#pragma once

#include "halo.hpp"

#include <memarray/memarray.hpp>

#include <cstdint>

namespace heat {

/// A plate of `rows` by `columns` points, whose rows are split evenly over the ranks of `comm`. Its edge keeps its
/// temperature. Each point is computed from five numbers in a fixed order, so results do not depend on the number of
/// ranks.
class Plate {
 public:
  /// Splits the rows over the ranks of `comm`, which must outlive the plate. Throws `std::invalid_argument` if a rank
  /// would have no row.
  Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm);

  /// Computes the interior while the neighbours' rows travel, and then the rest. Collective over the communicator.
  /// Throws `LockError` if a conflicting lease is open; the field is then unchanged.
  void step();
  /// Computes the changes of the points whose neighbours are all the rank's own. It needs no row of another rank.
  void sweep_interior();
  /// Computes the changes of the first and last row from the rows in `halo`, and changes the field. Throws `LockError`
  /// if a conflicting lease is open; the field is then unchanged.
  void sweep_border();

  [[nodiscard]] std::int64_t first_row() const { return _first_row; }

 private:
  struct Rows {
    std::int64_t first, count;
  };
  Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm, Rows own);
  static Rows own_rows(std::int64_t rows, std::int64_t columns, MPI_Comm comm);

  MPI_Comm _comm;
  std::int64_t _rows, _first_row;
  double _rate;

 public:
  memarray::MemArray<double, 2> field;  ///< the rank's own rows
  Halo halo;

 private:
  memarray::MemArray<double, 2> _change;  ///< change of the field in a step; always 0 at the edge of the plate
};

}  // namespace heat
