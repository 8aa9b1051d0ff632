#pragma once

#include <memarray/detail/memory/block.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

namespace memarray::detail {

enum class Side : std::uint8_t { host, device };

[[nodiscard]] constexpr Side other(Side side) noexcept { return side == Side::host ? Side::device : Side::host; }

/// An array's memory: host and device side, each valid or stale; the current one is valid. Callers copy to a stale side
/// before use. Changes need the array's lock; any thread may call `current`.
class Storage {
 public:
  Storage() noexcept = default;
  Storage(Side side, BlockPtr block) noexcept : _current(side) { at(side) = {std::move(block), true}; }
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
  /// Counts live exports of valid sides, in all processes.
  [[nodiscard]] Block::Exports exports() const noexcept {
    Block::Exports all = block()->exports_everywhere();
    if (Half const& rest = at(other(current())); rest.valid) {
      Block::Exports const more = rest.block->exports_everywhere();
      all.read_only += more.read_only;
      all.writable += more.writable;
    }
    return all;
  }

  /// Records a write in place: `side` becomes current, the other stale.
  void wrote(Side side) noexcept {
    at(other(side)).valid = false;
    make_current(side);
  }
  /// Records a copy to `side`, into its block or `fresh`: it becomes valid and current.
  void arrived(Side side, BlockPtr fresh = {}) noexcept {
    if (fresh) at(side).block = std::move(fresh);
    at(side).valid = true;
    make_current(side);
  }
  /// Makes `fresh` the contents, on `side`. Returns the old block.
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
