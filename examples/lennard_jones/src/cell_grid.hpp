#pragma once

#include <memarray/memarray.hpp>

#include <array>
#include <cmath>
#include <cstdint>

namespace lennard_jones {

/// The periodic cube, divided into `per_side`^3 cells. Pairs closer than the cut-off lie in cells at most `reach` apart
/// along each axis, counting periodic images. Valid for any box, including one smaller than the cut-off.
struct CellGrid {
  using Cell = cuda::std::array<std::int64_t, 3>;

  double box;
  std::int64_t per_side;
  std::int64_t reach;

  static CellGrid around(double box, double cutoff) {
    auto const per_side = std::max<std::int64_t>(1, static_cast<std::int64_t>(box / cutoff));
    double const width = box / static_cast<double>(per_side);
    return {box, per_side, static_cast<std::int64_t>(std::ceil(cutoff / width))};
  }

  std::array<std::int64_t, 3> shape() const { return {per_side, per_side, per_side}; }

  /// Returns the coordinate of the periodic image inside the box.
  MEMARRAY_HD double wrap(double x) const { return x - box * std::floor(x / box); }

  /// Returns the cell index of a wrapped coordinate along one axis. Rounding may have produced `box` itself.
  MEMARRAY_HD std::int64_t cell_of(double wrapped) const {
    auto const cell = static_cast<std::int64_t>(wrapped / box * static_cast<double>(per_side));
    return cell < per_side ? cell : per_side - 1;
  }

  /// Returns the number of boxes between a cell index and the grid: -1, 0 or 1 unless the box is small.
  MEMARRAY_HD std::int64_t image_of(std::int64_t cell) const {
    return (cell >= 0 ? cell : cell - per_side + 1) / per_side;
  }
};

}  // namespace lennard_jones
