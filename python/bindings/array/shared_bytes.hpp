#pragma once

#include <Python.h>

#include <memarray/detail/memory/block.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstddef>
#include <span>

namespace memarray::python {

struct SharedSpan {
  std::span<std::byte> bytes;
  detail::Block::KeepAlive keep_alive;
};

/// Returns the memory of a view of bytes. The keep-alive drops the view, then `keep`. Throws `TypeError`, `BufferError`
/// (read-only), `ValueError` (closed).
[[nodiscard]] SharedSpan shared_span_of(PyObject* view, PyObject* keep);

/// Returns (dtype name, shape) of the array in a view of bytes. Throws as `read_segment` does.
PyObject* shared_layout(PyObject* view);

/// Returns (name, identity) of an array's shared memory, or None.
PyObject* describe_segment(detail::ArrayState const& state);
/// Runs `detail::recover`. Returns a list of (pid, "write", "read" or "views").
PyObject* recover_shared(detail::ArrayState& state);

}  // namespace memarray::python
