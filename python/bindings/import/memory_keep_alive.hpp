#pragma once

#include <memarray/detail/memory/block.hpp>

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace memarray::python {

/// A keep-alive of imported memory that shows the memory's owner to the garbage collector. The owner may refer to views
/// of the memory.
///
/// The block and each `BufferView` of the block refer to this Python object. The collector sees the references of the
/// views. It sees the block's reference only while views hold all exports and references of the block. An export or an
/// array outside any view therefore keeps the owner alive.
struct MemoryKeepAlive {
  PyObject_HEAD PyObject* owner;        ///< may be null
  Py_buffer buffer;                     ///< buffer of an object that is not collected, or without an object
  std::atomic<detail::Block*> block;    ///< the views' block; null until there is one
  std::atomic<std::uint64_t> in_views;  ///< exports of `block` that views hold
};

/// Makes the type. Call once, at import. −1 with the Python error set.
int add_memory_keep_alive_type();
/// Returns a new keep-alive; the caller fills it in and then calls `collect_keep_alive`. Null with the Python error
/// set.
[[nodiscard]] MemoryKeepAlive* make_memory_keep_alive();
/// Registers a keep-alive with the collector if its owner takes part in garbage collection.
void collect_keep_alive(MemoryKeepAlive* keep_alive) noexcept;
/// Returns the keep-alive for a block. Takes over the caller's reference.
[[nodiscard]] detail::Block::KeepAlive keep_alive_for_block(MemoryKeepAlive* keep_alive) noexcept;
/// Returns the keep-alive of a block's memory, borrowed; null if there is none or the collector does not track it.
[[nodiscard]] MemoryKeepAlive* memory_keep_alive_of(detail::Block const& block) noexcept;

}  // namespace memarray::python
