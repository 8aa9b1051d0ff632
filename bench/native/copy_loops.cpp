// Hand-written copies of strided memory to warm, dense memory: the cost of the copy alone on this machine. Built with
// -O3 -march=native; the compiler knows the types and the column stride. No planning, checks or allocation. Called
// through ctypes.
#include <emmintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "on_threads.hpp"

namespace {

struct Shape {
  std::int64_t rows_of_plane, columns, plane, pitch;

  template <class T>
  T const* row(T const* data, std::int64_t r) const {
    return data + r / rows_of_plane * plane + r % rows_of_plane * pitch;
  }
};

template <std::int64_t step, class To, class From>
void copy_row(To* __restrict to, From const* __restrict from, std::int64_t columns) {
  for (std::int64_t i = 0; i < columns; ++i) to[i] = static_cast<To>(from[i * step]);
}

/// Copies with stores that bypass the caches. A buffer gathers pieces of rows until they fill whole cache lines.
template <std::int64_t step, class To, class From>
void stream_rows(To* to, From const* data, Shape const& shape, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t line = 64 / sizeof(To), piece = 4096 / sizeof(To);
  alignas(64) To gathered[piece + 2 * line];
  // Aligns the buffer's lines with the cache lines of `to`.
  std::int64_t const before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % 64 / sizeof(To));
  std::int64_t skipped = before, filled = before;
  to -= before;
  for (std::int64_t r = begin; r < end; ++r) {
    From const* const from = shape.row(data, r);
    for (std::int64_t first = 0; first < shape.columns; first += piece) {
      std::int64_t const count = std::min(piece, shape.columns - first);
      copy_row<step>(gathered + filled, from + first * step, count);
      filled += count;
      std::int64_t const whole = filled / line * line;
      if (whole == 0) continue;
      std::int64_t i = 0;
      if (skipped != 0) {
        std::memcpy(to + skipped, gathered + skipped, static_cast<std::size_t>(line - skipped) * sizeof(To));
        skipped = 0;
        i = line;
      }
      for (; i < whole; i += 16 / sizeof(To))
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_load_si128(reinterpret_cast<__m128i const*>(gathered + i)));
      to += whole;
      filled -= whole;
      std::memcpy(gathered, gathered + whole, static_cast<std::size_t>(filled) * sizeof(To));
    }
  }
  std::memcpy(to + skipped, gathered + skipped, static_cast<std::size_t>(filled - skipped) * sizeof(To));
  _mm_sfence();
}

template <std::int64_t step, class To, class From>
void copy(To* to, From const* data, Shape const& shape, std::int64_t rows, bool nontemporal, int threads) {
  on_threads(rows, threads, [=](std::int64_t begin, std::int64_t end) {
    To* const first = to + begin * shape.columns;
    if (nontemporal) return stream_rows<step>(first, data, shape, begin, end);
    for (std::int64_t r = begin; r < end; ++r)
      copy_row<step>(first + (r - begin) * shape.columns, shape.row(data, r), shape.columns);
  });
}

template <class To, class From>
int copy_by_step(void* to, void const* from, std::int64_t step, Shape const& shape, std::int64_t rows, int nontemporal,
                 int threads) {
  auto const with = [&]<std::int64_t known>() {
    copy<known>(static_cast<To*>(to), static_cast<From const*>(from), shape, rows, nontemporal != 0, threads);
    return 1;
  };
  switch (step) {
    case 1: return with.template operator()<1>();
    case 2: return with.template operator()<2>();
    case 4: return with.template operator()<4>();
    case -1: return with.template operator()<-1>();
    default: return 0;
  }
}

}  // namespace

extern "C" {

// Defines a copy function. Strides count elements; `step` is the column stride. The function returns 0 if no instance
// has that `step`.
#define MEMARRAY_BENCH_COPY(name, To, From)                                                                            \
  int name(void* to, void const* from, std::int64_t planes, std::int64_t plane, std::int64_t rows, std::int64_t pitch, \
           std::int64_t columns, std::int64_t step, int nontemporal, int threads) {                                    \
    return copy_by_step<To, From>(to, from, step, Shape{rows, columns, plane, pitch}, planes * rows, nontemporal,      \
                                  threads);                                                                            \
  }

MEMARRAY_BENCH_COPY(copy_float32_float32, float, float)
MEMARRAY_BENCH_COPY(copy_float32_float64, double, float)
MEMARRAY_BENCH_COPY(copy_float32_float16, _Float16, float)
MEMARRAY_BENCH_COPY(copy_int32_float32, float, std::int32_t)

#undef MEMARRAY_BENCH_COPY

}  // extern "C"
