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

Exchange::Exchange(memarray::MemArray<double, 2> const& field, Halo& halo, MPI_Comm comm)
    : Exchange(memarray::leases(memarray::read(field), memarray::write(halo.above), memarray::write(halo.below))) {
  // If this throws, the destructor waits for the messages so far: it runs because a constructor has completed.
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  int const up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  int const down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;

  auto const& [own, above, below] = _leases;
  auto const rows = field.get_shape()[0];
  auto const columns = static_cast<int>(field.get_shape()[1]);
  double const* const first = own.indexer().get(0);
  double const* const last = first + (rows - 1) * columns;

  enum Tag { upwards, downwards };
  auto const receive = [&](double* to, int from, Tag tag, MPI_Request& request) {
    check(MPI_Irecv(to, columns, MPI_DOUBLE, from, tag, comm, &request), "MPI_Irecv");
  };
  auto const send = [&](double const* row, int to, Tag tag, MPI_Request& request) {
    check(MPI_Isend(row, columns, MPI_DOUBLE, to, tag, comm, &request), "MPI_Isend");
  };
  receive(above.indexer().get(0), up, downwards, _requests[0]);
  receive(below.indexer().get(0), down, upwards, _requests[1]);
  send(first, up, upwards, _requests[2]);
  send(last, down, downwards, _requests[3]);
}

Exchange::~Exchange() { MPI_Waitall(4, _requests, MPI_STATUSES_IGNORE); }

void Exchange::wait() { check(MPI_Waitall(4, _requests, MPI_STATUSES_IGNORE), "MPI_Waitall"); }

}  // namespace heat
