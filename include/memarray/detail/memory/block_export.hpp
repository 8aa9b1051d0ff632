#pragma once

#include <memarray/detail/memory/block.hpp>

#include <utility>

namespace memarray::detail {

/// A counted export of a block. Each copy counts.
class BlockExport {
 public:
  BlockExport() noexcept = default;
  /// Throws like `Block::add_export`.
  BlockExport(Block& block, bool writable) : _block(&block), _writable(writable) { _block->add_export(_writable); }
  /// Takes over a counted export.
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
  /// Returns the block, or null; the caller must drop the export.
  [[nodiscard]] Block* release() noexcept { return std::exchange(_block, nullptr); }

 private:
  Block* _block = nullptr;
  bool _writable = false;
};

}  // namespace memarray::detail
