#pragma once

#include <memarray/memarray.hpp>

#include <mpi.h>

#include <tuple>
#include <utility>

namespace heat {

/// The neighbours' rows that a rank needs. They are separate arrays: receiving them does not write to the field, so
/// escaped views of the field cost no copy.
struct Halo {
  explicit Halo(std::int64_t columns) : above({columns}), below({columns}) {}

  memarray::MemArray<double, 1> above;
  memarray::MemArray<double, 1> below;
};

/// Pending messages: the first and last row of a field to the ranks above and below, and their rows to a halo. There
/// are no intermediate buffers. At the edge of the plate no row is sent, and the halo row is unchanged.
///
/// The arrays are leased until all messages have arrived: the memory that MPI uses neither moves nor changes.
/// Kernels may read the field meanwhile.
class Exchange {
 public:
  /// Submits the messages. All ranks of `comm` do so. Throws `LockError` before any message is sent if a conflicting
  /// lease is open, and `std::runtime_error` with MPI's message.
  Exchange(memarray::MemArray<double, 2> const& field, Halo& halo, MPI_Comm comm);
  Exchange(Exchange const&) = delete;
  Exchange& operator=(Exchange const&) = delete;
  /// Waits for the messages that `wait` has not seen.
  ~Exchange();

  /// Waits until all messages have arrived. Throws `std::runtime_error` with MPI's message.
  void wait();

 private:
  using Leases =
      std::tuple<memarray::ReadLease<double, 2>, memarray::WriteLease<double, 1>, memarray::WriteLease<double, 1>>;
  explicit Exchange(Leases leases) : _leases(std::move(leases)) {}

  Leases _leases;
  MPI_Request _requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/// Throws `std::runtime_error` with MPI's message unless `code` is success.
void check(int code, char const* call);

}  // namespace heat
