#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/process.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace memarray::detail {

// `create_shared` and `attach_shared` throw like their namesakes in `memarray`. Both take ownership of `keep_alive`,
// even then.

[[nodiscard]] MEMARRAY_API ArrayStatePtr create_shared(std::span<std::byte> bytes, Block::KeepAlive keep_alive,
                                                       std::string name, bool is_zero, DType const& dtype,
                                                       Extents shape);
[[nodiscard]] MEMARRAY_API ArrayStatePtr attach_shared(std::span<std::byte> bytes, Block::KeepAlive keep_alive,
                                                       std::string name, DType const& dtype, int ndim);
/// Releases and returns the holds of ended processes.
MEMARRAY_API std::vector<Death> recover(ArrayState& state);

}  // namespace memarray::detail
