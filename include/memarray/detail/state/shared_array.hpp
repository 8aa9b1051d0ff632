#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/process.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/state.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

// Each takes `keeper` over, also when it throws.

/// Creates the state of a new array in shared memory. Throws as `memarray::create_shared`.
[[nodiscard]] MEMARRAY_API StatePtr create_shared(std::span<std::byte> bytes, Block::Keeper keeper, std::string name,
                                                  bool is_zero, DType const& dtype, Extents shape);
/// Attaches to the array in shared memory. Throws as `memarray::attach_shared`.
[[nodiscard]] MEMARRAY_API StatePtr attach_shared(std::span<std::byte> bytes, Block::Keeper keeper, std::string name,
                                                  DType const& dtype, int ndim);
/// Releases what processes that have ended held of the array, and returns it.
MEMARRAY_API std::vector<Death> recover(State& state);

}  // namespace memarray::detail
