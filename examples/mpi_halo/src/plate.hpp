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
  /// `comm` must outlive the plate. Throws `std::invalid_argument` if a rank would have no row.
  Plate(std::int64_t rows, std::int64_t columns, double rate, MPI_Comm comm);

  /// Calls `exchange` and `sweep` once.
  void step();
  /// Fetches the neighbours' rows. Collective over the communicator.
  void exchange() { heat::exchange(field, halo, _comm); }
  /// Computes the rank's own points from its field and the rows in `halo`. Throws `LockError` if a conflicting lease is
  /// open.
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
