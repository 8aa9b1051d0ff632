#pragma once

#include <Python.h>

#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/state.hpp>

#include <cstddef>
#include <span>

namespace memarray::python {

struct SharedBytes {
  std::span<std::byte> bytes;
  detail::Block::Keeper keeper;
};

/// The memory of a view of bytes, with a keeper that lets go of the view first and then of `keep`, which may be None.
/// Throws `TypeError` (not a view), `BufferError` (read-only), `ValueError` (closed).
[[nodiscard]] SharedBytes shared_bytes_of(PyObject* view, PyObject* keep);

/// (dtype name, shape) of the array that a view of bytes holds; throws as `detail::read_segment` does.
PyObject* shared_layout(PyObject* view);

/// (name, identity) of the shared memory that an array is in, or None.
PyObject* describe_segment(detail::State const& state);
/// What `detail::recover` returns, as a list of (pid, word).
PyObject* recover_shared(detail::State& state);

}  // namespace memarray::python
