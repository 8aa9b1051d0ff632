#pragma once

#include "halo.hpp"

#include <memarray/memarray.hpp>

#include <cstdint>

namespace heat {

/// A plate of `rows` by `columns` points, whose rows are shared out evenly over the ranks of `comm`; its edge keeps its
/// temperature. Every point is computed from the same five numbers in the same order, whoever computes it: results do
/// not depend on the number of ranks.
class Plate {
 public:
  /// `comm` outlives the plate. Throws `std::invalid_argument` where a rank would have no row.
  Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm);

  /// `exchange` and `sweep`, once.
  void step();
  /// Gets the neighbours' rows; all ranks call it.
  void exchange() { heat::exchange(field, halo, _comm); }
  /// Computes the rank's own points from its field and the rows in `halo`. Throws `LockError` if somebody holds one.
  void sweep();

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
  memarray::MemArray<double, 2> _next;
};

}  // namespace heat
