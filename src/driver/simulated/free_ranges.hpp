#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "hidden.hpp"

namespace memarray::simulated {

/// How a range became free: in the order of a stream, when that comes to it. Whoever gets the range comes after that.
struct Freeing {
  cu::Stream stream = nullptr;  // null: not in a stream's order, done
  std::atomic<bool> has_run{false};
  Edge edge;
};

/// By the caller, who comes after all use of the range.
[[nodiscard]] inline std::shared_ptr<Freeing> freed_now() {
  auto freeing = std::make_shared<Freeing>();
  freeing->edge.leave();
  freeing->has_run.store(true, std::memory_order_release);
  return freeing;
}

/// Ranges of addresses that are free, given out first fit.
class FreeRanges {
 public:
  using May = std::function<bool(Freeing const&)>;

  void give(std::uintptr_t begin, std::size_t bytes, std::shared_ptr<Freeing> freeing);
  /// The first `bytes` in a row of which all `may` be taken; `behind` gets the freeings that the taker comes after.
  [[nodiscard]] std::optional<std::uintptr_t> take(std::size_t bytes, May const& may,
                                                   std::vector<std::shared_ptr<Freeing>>& behind);
  /// At most `bytes` of what is done being freed, from the end, handed to `other`; returns how many.
  std::size_t move_done(std::size_t bytes, FreeRanges& other);
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }

 private:
  struct Range {
    std::size_t bytes;
    std::shared_ptr<Freeing> freeing;  // null: free as ever
  };

  // Ranges that nobody can tell apart are one. Under the sanitizer each keeps its own freeing, and so its edge.
  [[nodiscard]] static bool are_alike(Range const& one, Range const& other) noexcept;

  std::map<std::uintptr_t, Range> _ranges;
  std::size_t _bytes = 0;
};

}  // namespace memarray::simulated
