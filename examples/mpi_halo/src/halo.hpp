#pragma once

#include <memarray/memarray.hpp>

#include <mpi.h>

namespace heat {

/// The neighbours' rows that a rank needs. They are separate arrays: receiving them does not write to the field, so
/// escaped views of the field cost no copy.
struct Halo {
  explicit Halo(std::int64_t columns) : above({columns}), below({columns}) {}

  memarray::MemArray<double, 1> above;
  memarray::MemArray<double, 1> below;
};

/// Sends the first and last row of `field` to the ranks above and below, and receives their rows into `halo`, without
/// intermediate buffers. At the edge of the plate no row is sent, and the halo row is unchanged. Collective over
/// `comm`. Throws `LockError` before any message is sent if a conflicting lease is open, and `std::runtime_error` with
/// MPI's message.
void exchange(memarray::MemArray<double, 2> const& field, Halo& halo, MPI_Comm comm);

/// Throws `std::runtime_error` with MPI's message unless `code` is success.
void check(int code, char const* call);

}  // namespace heat
