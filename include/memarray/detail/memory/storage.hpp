#pragma once

#include <memarray/detail/memory/block.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace memarray::detail {

enum class Side : std::uint8_t { host, device };

[[nodiscard]] constexpr Side other(Side side) noexcept { return side == Side::host ? Side::device : Side::host; }

/// The two sides of an array's memory, with the validity of each as in a cache protocol.
///
/// One side is current: the one that is used when nobody names one. It is always valid. Reading leaves both sides as
/// they are, writing one makes the other stale, arriving on a stale side takes a copy first (the caller's work).
/// Not thread-safe: whoever changes it holds the array's lock; but anybody may ask which side is current.
class Storage {
 public:
  Storage() noexcept = default;
  /// Born valid on `side`.
  Storage(Side side, BlockPtr block) noexcept : _current(side) { at(side) = {std::move(block), true}; }
  /// Shares the blocks: to go back to.
  Storage(Storage const& other) noexcept : _sides(other._sides), _current(other.current()) {}
  Storage(Storage&& other) noexcept : _sides(std::move(other._sides)), _current(other.current()) {}
  Storage& operator=(Storage&& other) noexcept {
    _sides = std::move(other._sides);
    make_current(other.current());
    return *this;
  }
  ~Storage() = default;

  [[nodiscard]] Side current() const noexcept { return _current.load(std::memory_order_relaxed); }
  [[nodiscard]] BlockPtr const& block() const noexcept { return at(current()).block; }
  [[nodiscard]] BlockPtr const& block(Side side) const noexcept { return at(side).block; }
  [[nodiscard]] bool valid(Side side) const noexcept { return at(side).valid; }
  /// Live exports of the contents: of the current block, and of the other side's while it is valid, too.
  [[nodiscard]] Block::Exports exports() const noexcept {
    Block::Exports all = block()->exports();
    if (Half const& rest = at(other(current())); rest.valid) {
      Block::Exports const more = rest.block->exports();
      all.read_only += more.read_only;
      all.writable += more.writable;
    }
    return all;
  }

  /// `side` was written in place.
  void wrote(Side side) noexcept {
    at(other(side)).valid = false;
    make_current(side);
  }
  /// `side` has the contents of the other, in its block or in `fresh`.
  void arrived(Side side, BlockPtr fresh = {}) noexcept {
    if (fresh) at(side).block = std::move(fresh);
    at(side).valid = true;
    make_current(side);
  }
  /// New contents on `side`, in `fresh`. Returns the block that they replace.
  BlockPtr replace(Side side, BlockPtr fresh) noexcept {
    std::swap(at(side).block, fresh);
    at(side).valid = true;
    wrote(side);
    return fresh;
  }

 private:
  struct Half {
    BlockPtr block;
    bool valid = false;
  };
  void make_current(Side side) noexcept { _current.store(side, std::memory_order_relaxed); }
  [[nodiscard]] Half& at(Side side) noexcept { return _sides[static_cast<std::size_t>(side)]; }
  [[nodiscard]] Half const& at(Side side) const noexcept { return _sides[static_cast<std::size_t>(side)]; }

  std::array<Half, 2> _sides;
  std::atomic<Side> _current{Side::host};
};

}  // namespace memarray::detail
