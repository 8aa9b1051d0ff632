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
struct MemoryKeeper {
  PyObject_HEAD PyObject* owner;        ///< may be null
  Py_buffer buffer;                     ///< buffer of an object that is not collected, or without an object
  std::atomic<detail::Block*> block;    ///< the views' block; null until there is one
  std::atomic<std::uint64_t> in_views;  ///< exports of `block` that views hold
};

/// Makes the type. Call once, at import. −1 with the Python error set.
int add_memory_keeper_type();
/// Returns a new keeper; the caller fills it in and then calls `collect_keeper`. Null with the Python error set.
[[nodiscard]] MemoryKeeper* make_memory_keeper();
/// Registers a keeper with the collector if its owner takes part in garbage collection.
void collect_keeper(MemoryKeeper* keeper) noexcept;
/// Returns the keep-alive for a block. Takes over the caller's reference.
[[nodiscard]] detail::Block::Keeper keeper_for_block(MemoryKeeper* keeper) noexcept;
/// Returns the keeper of a block's memory, borrowed; null if there is none or the collector does not track it.
[[nodiscard]] MemoryKeeper* memory_keeper_of(detail::Block const& block) noexcept;

}  // namespace memarray::python
