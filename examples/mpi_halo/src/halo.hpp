#pragma once

#include <memarray/memarray.hpp>

#include <mpi.h>

namespace heat {

/// The rows of its neighbours that a rank needs. They are arrays of their own: receiving them writes nothing that
/// anybody looks at, so kept views of the field cost no copy.
struct Halo {
  explicit Halo(std::int64_t columns) : above({columns}), below({columns}) {}

  memarray::MemArray<double, 1> above;
  memarray::MemArray<double, 1> below;
};

/// Sends the first and last row of `field` to the ranks above and below, and receives theirs into `halo`, from and into
/// the arrays' own memory. At the edge of the plate nothing is sent, and the row there stays as it is. All ranks of
/// `comm` call it. Throws `LockError` if somebody holds an array, before anything is sent; `std::runtime_error` with
/// MPI's words.
void exchange(memarray::MemArray<double, 2> const& field, Halo& halo, MPI_Comm comm);

/// Throws `std::runtime_error` with MPI's words unless `code` is success.
void check(int code, char const* call);

}  // namespace heat
