#pragma once

#include <memarray/detail/memory/block.hpp>

#include <utility>

namespace memarray::detail {

/// One live export of a block, counted as long as it lives: the memory stays, and its array knows that somebody looks
/// (or writes). Copies count for themselves.
class BlockExport {
 public:
  BlockExport() noexcept = default;
  /// Counts one. Throws `BufferError` past a million of a kind.
  BlockExport(Block& block, bool writable) : _block(&block), _writable(writable) { _block->add_export(_writable); }
  /// Takes over one that was counted.
  [[nodiscard]] static BlockExport counted(Block& block, bool writable) noexcept {
    BlockExport result;
    result._block = &block;
    result._writable = writable;
    return result;
  }
  BlockExport(BlockExport const& other) : _block(other._block), _writable(other._writable) {
    if (_block) _block->add_export(_writable);
  }
  BlockExport(BlockExport&& other) noexcept
      : _block(std::exchange(other._block, nullptr)), _writable(std::exchange(other._writable, false)) {}
  BlockExport& operator=(BlockExport other) noexcept {
    std::swap(_block, other._block);
    std::swap(_writable, other._writable);
    return *this;
  }
  ~BlockExport() {
    if (_block) _block->drop_export(_writable);
  }

  explicit operator bool() const noexcept { return _block != nullptr; }
  [[nodiscard]] Block& block() const noexcept { return *_block; }
  [[nodiscard]] bool writable() const noexcept { return _writable; }
  /// The block, whose count the caller drops from now on; null if there was none.
  [[nodiscard]] Block* release() noexcept { return std::exchange(_block, nullptr); }

 private:
  Block* _block = nullptr;
  bool _writable = false;
};

}  // namespace memarray::detail
