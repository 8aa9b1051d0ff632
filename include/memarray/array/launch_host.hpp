#pragma once

#include <memarray/array/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/threads.hpp>

#include <cuda/std/array>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// Runs `body(begin, end)` over [0, size) on the host's threads. Memory decides how many pieces a large loop is cut into;
/// for a small one the first piece is timed, and the rest shared out if it is worth waking threads for.
template <class Body>
void run_host(std::int64_t size, std::size_t bytes, Body const& body) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds worth_sharing = std::chrono::microseconds(100);
  constexpr std::chrono::nanoseconds piece = std::chrono::microseconds(50);

  std::int64_t begin = 0;
  std::int64_t chunks = std::min(parallel_chunks(bytes), size);
  if (chunks <= 1) {
    std::int64_t const head = std::max<std::int64_t>(size / 64, 1);
    if (head >= size || threads() == 1) {
      if (size > 0) body(std::int64_t{0}, size);
      return;
    }
    auto const start = Clock::now();
    body(std::int64_t{0}, head);
    auto const rest = (Clock::now() - start) * ((size - head) / head);
    begin = head;
    if (rest < worth_sharing) return body(head, size);
    chunks = std::clamp<std::int64_t>(rest / piece, 2, std::min<std::int64_t>(size - head, 1024));
  }
  std::int64_t const length = (size - begin) / chunks;
  std::int64_t const longer = (size - begin) % chunks;  // so many chunks have one element more
  parallel_for(chunks, [&](std::int64_t chunk) {
    std::int64_t const first = begin + chunk * length + std::min(chunk, longer);
    body(first, first + length + (chunk < longer ? 1 : 0));
  });
}

/// Calls `visit(linear, indices)` for each linear index in [begin, end), row by row: only the last index changes in the
/// inner loop, which compilers can then vectorise.
template <class IndexT, int ndim, class Visit>
MEMARRAY_ALWAYS_INLINE void visit_range(cuda::std::array<std::int64_t, ndim> const& shape, std::int64_t begin,
                                        std::int64_t end, Visit&& visit) {
  if (begin >= end) return;
  auto indices = to_indices<IndexT, ndim>(ArrayIndexer<char const, ndim>{nullptr, shape}.get_indices(begin));
  while (begin < end) {
    IndexT const first = indices[ndim - 1];
    auto const row = static_cast<IndexT>(std::min<std::int64_t>(end - begin, shape[ndim - 1] - first));
    for (IndexT j = 0; j < row; ++j) {
      auto here = indices;
      here[ndim - 1] = first + j;
      visit(begin + j, here);
    }
    begin += row;
    indices[ndim - 1] = 0;
    for (int d = ndim - 2; d >= 0; --d) {
      if (++indices[d] < shape[d]) break;
      indices[d] = 0;
    }
  }
}

}  // namespace memarray::detail
