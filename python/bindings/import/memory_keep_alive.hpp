#pragma once

#include <memarray/detail/memory/block.hpp>

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace memarray::python {

/// A keep-alive that shows the owner of imported memory to the garbage collector, because the owner may refer to views.
///
/// The block and its views refer to it. The collector sees the block's reference only while the block's only holders
/// are views: any other holder keeps the owner alive.
struct MemoryKeepAlive {
  PyObject_HEAD PyObject* owner;        ///< may be null
  Py_buffer buffer;                     ///< has no object if a memoryview in `owner` holds it
  std::atomic<detail::Block*> block;    ///< the views' block, or null
  std::atomic<std::uint64_t> in_views;  ///< exports of `block` that views hold
};

int add_memory_keep_alive_type();
/// Returns a new keep-alive. The caller fills it in, then calls `track_keep_alive`.
[[nodiscard]] MemoryKeepAlive* make_memory_keep_alive();
/// Registers a keep-alive with the collector if its owner is collected.
void track_keep_alive(MemoryKeepAlive* keep_alive) noexcept;
/// Returns a `KeepAlive` that takes over the caller's reference.
[[nodiscard]] detail::Block::KeepAlive keep_alive_for_block(MemoryKeepAlive* keep_alive) noexcept;
/// Returns the block's keep-alive, borrowed; null unless the collector tracks it.
[[nodiscard]] MemoryKeepAlive* memory_keep_alive_of(detail::Block const& block) noexcept;

}  // namespace memarray::python
