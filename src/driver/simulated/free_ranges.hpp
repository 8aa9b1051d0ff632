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

/// The free of a range, as work in a stream. The range's next allocation arrives at `edge`.
struct Freeing {
  cu::Stream stream = nullptr;  // null: not stream-ordered, completed
  std::atomic<bool> has_run{false};
  Edge edge;
};

/// Returns a completed freeing, made after all use.
[[nodiscard]] inline std::shared_ptr<Freeing> freed_now() {
  auto freeing = std::make_shared<Freeing>();
  freeing->edge.leave();
  freeing->has_run.store(true, std::memory_order_release);
  return freeing;
}

/// Free ranges of addresses, allocated first fit.
class FreeRanges {
 public:
  using May = std::function<bool(Freeing const&)>;

  void give(std::uintptr_t begin, std::size_t bytes, std::shared_ptr<Freeing> freeing);
  /// Takes the first `bytes` contiguous bytes whose freeings satisfy `may`. Appends these to `behind`: the new
  /// allocation must follow them.
  [[nodiscard]] std::optional<std::uintptr_t> take(std::size_t bytes, May const& may,
                                                   std::vector<std::shared_ptr<Freeing>>& behind);
  /// Moves up to `bytes` bytes without a pending freeing to `other`, highest addresses first. Returns their number.
  std::size_t move_done(std::size_t bytes, FreeRanges& other);
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }

 private:
  struct Range {
    std::size_t bytes;
    std::shared_ptr<Freeing> freeing;  // null: never allocated
  };

  // True if mergeable. Under the thread sanitizer each freeing keeps its own edge.
  [[nodiscard]] static bool are_alike(Range const& one, Range const& other) noexcept;

  std::map<std::uintptr_t, Range> _ranges;
  std::size_t _bytes = 0;
};

}  // namespace memarray::simulated
