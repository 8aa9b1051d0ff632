#pragma once

#include <memarray/detail/memory/block.hpp>

#include <Python.h>

#include <atomic>
#include <cstdint>

namespace memarray::python {

/// Keeps the owner of imported memory for a block, and shows the garbage collector what it keeps: the owner may refer
/// to views of the memory.
///
/// A Python object that the block refers to, and each `BufferView` of the block. The collector sees the views'
/// references. It sees the block's only while views have all holds of the block: an export or an array that lives
/// outside any view keeps the owner alive.
struct MemoryKeeper {
  PyObject_HEAD PyObject* owner;        ///< may be null
  Py_buffer buffer;                     ///< of an object that is not collected, or one without an object
  std::atomic<detail::Block*> block;    ///< of the views; null until there is one
  std::atomic<std::uint64_t> in_views;  ///< exports of `block` that views have
};

/// Makes the type; once, at import. −1 with the Python error set.
int add_memory_keeper_type();
/// A new keeper, which `collect_keeper` is called for once it is filled in. Null with the Python error set.
[[nodiscard]] MemoryKeeper* make_memory_keeper();
/// Shows a keeper to the collector, if what it keeps can take part in garbage collection.
void collect_keeper(MemoryKeeper* keeper) noexcept;
/// For a block: takes over the caller's reference.
[[nodiscard]] detail::Block::Keeper keeper_for_block(MemoryKeeper* keeper) noexcept;
/// The keeper of a block's memory, borrowed; null if there is none, or one that the collector does not see.
[[nodiscard]] MemoryKeeper* memory_keeper_of(detail::Block const& block) noexcept;

}  // namespace memarray::python
