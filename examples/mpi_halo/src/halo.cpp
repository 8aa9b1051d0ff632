#include "halo.hpp"

#include <stdexcept>
#include <string>

namespace heat {

void check(int code, char const* call) {
  if (code == MPI_SUCCESS) return;
  std::string words(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, words.data(), &length);
  throw std::runtime_error(std::string(call) + ": " + words.substr(0, static_cast<std::size_t>(length)));
}

void exchange(memarray::MemArray<double, 2> const& field, Halo& halo, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  int const up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int const down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

  // Held until the last message completes: the memory whose address MPI has must neither move nor change.
  auto const [own, above, below] =
      memarray::leases(memarray::read(field), memarray::write(halo.above), memarray::write(halo.below));
  auto const rows = field.get_shape()[0];
  auto const columns = static_cast<int>(field.get_shape()[1]);
  double const* const first = own.indexer().get(0);
  double const* const last = first + (rows - 1) * columns;

  enum Tag { upwards, downwards };
  check(MPI_Sendrecv(first, columns, MPI_DOUBLE, up, upwards, below.indexer().get(0), columns, MPI_DOUBLE, down,
                     upwards, comm, MPI_STATUS_IGNORE),
        "MPI_Sendrecv");
  check(MPI_Sendrecv(last, columns, MPI_DOUBLE, down, downwards, above.indexer().get(0), columns, MPI_DOUBLE, up,
                     downwards, comm, MPI_STATUS_IGNORE),
        "MPI_Sendrecv");
}

}  // namespace heat
