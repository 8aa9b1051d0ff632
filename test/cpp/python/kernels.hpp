#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kernels {

using Indices = std::vector<std::int64_t>;

/// Where a launch runs: over the shape `end`, or over the range from `begin` to `end`.
struct Where {
  std::optional<Indices> begin;
  Indices end;
  int threads;
  std::int64_t grain;
  std::int64_t lock_id;  // of the caller's write lease of a `MemArray`, or -1
};

/// The kernels of one dtype and rank. Memory is a `MemArray`, or memory of any library as a strided `BufferView`.
/// Elements are passed as bytes. Null: the dtype has no such operation.
struct Kernels {
  /// Adds to elements a number that their indices make, or sets them to it for "overwrite".
  void (*change)(pybind11::handle memory, std::string const& access, Where const& where);
  pybind11::bytes (*transform_reduce)(pybind11::handle memory, std::string const& operation, std::string const& init,
                                      Where const& where);
  pybind11::bytes (*reduce)(pybind11::handle array, std::string const& operation, std::string const& init);
  pybind11::bytes (*extremes)(pybind11::handle array, std::string const& name);
  Indices (*position)(pybind11::handle array, std::string const& name);
  pybind11::bytes (*dot)(pybind11::handle left, pybind11::handle right);
  pybind11::bytes (*sum)(pybind11::handle array);
  /// Returns the total of an exclusive scan. An inclusive scan has no `init`.
  std::optional<pybind11::bytes> (*scan)(pybind11::handle array, pybind11::handle result, std::string const& operation,
                                         std::optional<std::string> const& init);
  void (*sort_by_key)(pybind11::handle keys, pybind11::handle values);
};

/// Returns the kernels of ranks 1 to 4.
template <class T>
Kernels const& kernels_of(int ndim);

}  // namespace kernels
