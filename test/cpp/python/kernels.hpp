#pragma once

#include <memarray/driver/stream_handle.hpp>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kernels {

using memarray::StreamHandle;
using Indices = std::vector<std::int64_t>;

/// The indices of a launch: the shape `end`, or the range from `begin` to `end`.
struct Where {
  std::optional<Indices> begin;
  Indices end;
  int threads;
  std::int64_t grain;
  std::int64_t lock_id;  // of the caller's write lease of a `MemArray`, or -1
  StreamHandle stream;
};

/// The kernels of one dtype and rank. Memory is a `MemArray`, or memory of any library as a strided `BufferView`.
/// Elements are passed as bytes. Null: the dtype has no such operation.
struct Kernels {
  /// Adds to elements a number that their indices make, or sets them to it for "overwrite".
  void (*change)(pybind11::handle memory, std::string const& access, Where const& where);
  /// Sets rows by a launch over all dimensions but the last.
  void (*overwrite_rows)(pybind11::handle memory, Where const& where);
  /// Holds two arrays, adds the first to the second in each launch, and sums the second, to `result` unless None.
  std::optional<pybind11::bytes> (*hold)(pybind11::handle source, pybind11::handle target, int launches,
                                         Where const& where, pybind11::handle result);
  /// Sets a pair of arrays to the second and to their sum, and sums the second.
  pybind11::bytes (*bundle)(pybind11::handle first, pybind11::handle second, Where const& where);
  pybind11::bytes (*transform_reduce)(pybind11::handle memory, std::string const& operation, std::string const& init,
                                      Where const& where);
  void (*transform_reduce_into)(pybind11::handle result, pybind11::handle memory, std::string const& operation,
                                std::string const& init, Where const& where);
  std::int64_t (*count)(pybind11::handle array, Where const& where);
  pybind11::bytes (*reduce)(pybind11::handle array, std::string const& operation, std::string const& init,
                            StreamHandle const& stream);
  /// Sums in the 64-bit type of the dtype's kind.
  pybind11::bytes (*reduce_wide)(pybind11::handle array, std::string const& init, StreamHandle const& stream);
  pybind11::bytes (*extremes)(pybind11::handle array, std::string const& name, StreamHandle const& stream);
  Indices (*position)(pybind11::handle array, std::string const& name, StreamHandle const& stream);
  pybind11::bytes (*dot)(pybind11::handle left, pybind11::handle right, StreamHandle const& stream);
  pybind11::bytes (*sum)(pybind11::handle array, StreamHandle const& stream);
  /// Returns the total of an exclusive scan. An inclusive scan has no `init`.
  std::optional<pybind11::bytes> (*scan)(pybind11::handle array, pybind11::handle result, std::string const& operation,
                                         std::optional<std::string> const& init, StreamHandle const& stream);
  /// Sums to an array of the 64-bit type of the dtype's kind.
  std::optional<pybind11::bytes> (*scan_wide)(pybind11::handle array, pybind11::handle result,
                                              std::optional<std::string> const& init, StreamHandle const& stream);
  void (*sort_by_key)(pybind11::handle keys, pybind11::handle values, StreamHandle const& stream);
};

/// Returns the kernels of ranks 1 to 4.
template <class T>
Kernels const& kernels_of(int ndim);

}  // namespace kernels
