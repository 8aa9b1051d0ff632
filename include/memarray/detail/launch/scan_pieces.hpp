#pragma once

#include <memarray/base/config.hpp>
#include <memarray/base/threads.hpp>
#include <memarray/detail/launch/joined.hpp>
#include <memarray/detail/launch/run_host.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace memarray::detail {

/// In elements. Fixed, so results do not depend on the number of threads.
inline constexpr std::int64_t scan_piece = 1 << 16;

/// A scan on the host. Combines each piece in order, then the pieces. An element's result continues the combined value
/// of earlier pieces.
template <class T, class R, class Op>
struct HostScan {
  T const* source;
  R* target;
  std::int64_t size;
  Joined<R, Op> join;
  R init;  // of an exclusive scan
  bool is_inclusive;

  /// Converts `grain` to pieces. Without `threads`, shares if the bytes read are worth it.
  [[nodiscard]] LoopSharing shared(LoopSharing sharing) const noexcept {
    bool const pays = parallel_chunks(static_cast<std::size_t>(size) * sizeof(T)) > 1;
    if (sharing.threads == 0) sharing.threads = pays ? threads() : 1;
    sharing.grain = sharing.grain_in(scan_piece);
    return sharing;
  }

  /// Returns all elements combined, for an exclusive scan with `init`; `init` if there are none.
  R run(LoopSharing const& sharing) {
    std::int64_t const pieces = (size + scan_piece - 1) / scan_piece;
    if (sharing.threads == 1 || pieces < 2) {
      R before = init;
      for (std::int64_t p = 0; p < pieces; ++p) {
        R const own = scan(p, before, true);
        before = after(p, before, own);
      }
      return before;
    }
    auto const values = std::make_unique<R[]>(static_cast<std::size_t>(pieces));
    for_pieces(pieces, sharing,
               [&](HostScan& own, std::int64_t p) { values[static_cast<std::size_t>(p)] = own.combined(p); });
    R before = init;
    for (std::int64_t p = 0; p < pieces; ++p) {
      R& value = values[static_cast<std::size_t>(p)];
      R const own = value;
      value = before;
      before = after(p, before, own);
    }
    for_pieces(pieces, sharing,
               [&](HostScan& own, std::int64_t p) { own.scan(p, values[static_cast<std::size_t>(p)], false); });
    return before;
  }

 private:
  /// Calls `work(own, piece)` with a copy of the scan for each run of pieces, as the operation may have state.
  template <class Work>
  void for_pieces(std::int64_t pieces, LoopSharing const& sharing, Work const& work) const {
    run_host(pieces, static_cast<std::size_t>(size) * sizeof(T), sharing, [&](std::int64_t begin, std::int64_t end) {
      HostScan own = *this;
      for (std::int64_t p = begin; p < end; ++p) work(own, p);
    });
  }
  [[nodiscard]] std::int64_t end_of_piece(std::int64_t piece) const noexcept {
    return std::min(size, (piece + 1) * scan_piece);
  }
  /// Returns the value before the next piece.
  [[nodiscard]] R after(std::int64_t piece, R const& before, R const& own) {
    return piece == 0 && is_inclusive ? own : join(before, own);
  }
  [[nodiscard]] R value(std::int64_t i) const { return static_cast<R>(source[i]); }

  // Return the piece's elements, combined; `scan` only if `combines`.
  R combined(std::int64_t piece) {
    std::int64_t i = piece * scan_piece;
    R own = value(i);
    for (++i; i < end_of_piece(piece); ++i) own = join(own, value(i));
    return own;
  }
  R scan(std::int64_t piece, R running, bool combines) {
    std::int64_t i = piece * scan_piece;
    R own = value(i);
    auto const set = [&](R const& element) {
      if (!is_inclusive) target[i] = running;
      running = join(running, element);
      if (is_inclusive) target[i] = running;
    };
    if (is_inclusive && i == 0)
      target[i] = running = own;
    else
      set(own);
    for (++i; i < end_of_piece(piece); ++i) {
      R const element = value(i);
      if (combines) own = join(own, element);
      set(element);
    }
    return own;
  }
};

}  // namespace memarray::detail
