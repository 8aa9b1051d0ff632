#pragma once

#include <memarray/base/array_indexer.hpp>
#include <memarray/base/config.hpp>
#include <memarray/base/threads.hpp>

#include <cuda/std/array>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memarray::detail {

/// Runs `body(begin, end)` over [0, size) on host threads. The memory of a large loop decides its number of chunks. A
/// small loop times its first piece, and shares the rest if that is worth waking threads.
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
  std::int64_t const longer = (size - begin) % chunks;  // number of chunks with one element more
  parallel_for(chunks, [&](std::int64_t chunk) {
    std::int64_t const first = begin + chunk * length + std::min(chunk, longer);
    body(first, first + length + (chunk < longer ? 1 : 0));
  });
}

/// Visits `count` whole rows of `length` elements. A compile-time length lets the compiler vectorise across rows.
template <class Length, class IndexT, int ndim, class Visit>
MEMARRAY_ALWAYS_INLINE void visit_rows(IndexArray<IndexT, ndim> const& indices, std::int64_t linear, IndexT count,
                                       Length length, Visit& visit) {
  constexpr auto rank = static_cast<std::size_t>(ndim);
  for (IndexT i = 0; i < count; ++i) {
    for (IndexT j = 0; j < length; ++j) {
      auto here = indices;
      here[rank - 2] += i;
      here[rank - 1] = j;
      visit(linear + j, here);
    }
    linear += length;
  }
}

template <int length>
using RowLength = std::integral_constant<std::int32_t, length>;

/// Calls `visit(linear, indices)` for each linear index in [begin, end). Whole rows of the last dimension run in two
/// nested loops that compilers can vectorise; parts of rows at both ends run in one.
template <class IndexT, int ndim, class Visit>
MEMARRAY_ALWAYS_INLINE void visit_range(IndexArray<std::int64_t, ndim> const& shape, std::int64_t begin,
                                        std::int64_t end, Visit&& visit) {
  if (begin >= end) return;
  constexpr auto rank = static_cast<std::size_t>(ndim);
  auto indices = to_indices<IndexT, ndim>(ArrayIndexer<char const, ndim>{nullptr, shape}.get_indices(begin));
  auto const length = static_cast<IndexT>(shape[rank - 1]);
  while (begin < end) {
    std::size_t moved = rank - 1;  // the dimension along which the loops advanced
    if (ndim == 1 || indices[rank - 1] != 0 || end - begin < length) {
      auto const part = static_cast<IndexT>(std::min<std::int64_t>(end - begin, length - indices[rank - 1]));
      for (IndexT j = 0; j < part; ++j) {
        auto here = indices;
        here[rank - 1] += j;
        visit(begin + j, here);
      }
      begin += part;
      indices[rank - 1] += part;
    } else if constexpr (ndim > 1) {
      moved = rank - 2;
      std::int64_t const left = shape[rank - 2] - indices[rank - 2];
      auto const rows = static_cast<IndexT>(std::min((end - begin) / length, left));
      switch (length) {  // short rows, such as coordinates, are unrolled
        case 2: visit_rows<RowLength<2>, IndexT, ndim>(indices, begin, rows, {}, visit); break;
        case 3: visit_rows<RowLength<3>, IndexT, ndim>(indices, begin, rows, {}, visit); break;
        case 4: visit_rows<RowLength<4>, IndexT, ndim>(indices, begin, rows, {}, visit); break;
        default: visit_rows<IndexT, IndexT, ndim>(indices, begin, rows, length, visit);
      }
      begin += std::int64_t{rows} * length;
      indices[rank - 2] += rows;
    }
    for (std::size_t d = moved; d > 0 && indices[d] >= shape[d]; --d) {
      indices[d] = 0;
      ++indices[d - 1];
    }
  }
}

}  // namespace memarray::detail
