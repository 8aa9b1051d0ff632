// `add_index_tuple` as a C++ programmer writes it for one machine: -O3 -march=native, several variants. Called through
// ctypes, which releases the GIL.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "on_threads.hpp"

namespace {

template <class T>
void add_row(T* __restrict row, std::int32_t first, std::int64_t length) {
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(length); ++k) row[k] += static_cast<T>(first + k);
}

template <class T>
void add_rows_of_3(T* data, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    T const first = static_cast<T>(i);
    T* row = data + 3 * i;
    row[0] += first;
    row[1] += first + 1;
    row[2] += first + 2;
  }
}

typedef float Line __attribute__((vector_size(64)));

template <std::int64_t places>
void read_lines(Line* sums, float const* first, std::int64_t apart, std::int64_t columns, std::int64_t jump) {
  constexpr std::int64_t lanes = 16, most_ahead = 512;
  std::int64_t const ahead = std::min(most_ahead, columns);
  for (std::int64_t i = 0; i < columns; i += lanes) {
    // The last line may overlap the one before.
    float const* const at = first + std::min(i, columns - lanes);
    float const* const next = first + i + ahead + (i + ahead < columns ? 0 : jump);
#pragma GCC unroll 8
    for (std::int64_t p = 0; p < places; ++p) {
      __builtin_prefetch(next + p * apart);
      Line line;
      std::memcpy(&line, at + p * apart, sizeof line);
      sums[p] += line;
    }
  }
}

float sum_of(Line const* sums, std::int64_t count) {
  float total = 0;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::size_t lane = 0; lane < sizeof *sums / sizeof(float); ++lane) total += sums[i][lane];
  return total;
}

/// Reads memory in address order without prefetching. Several independent sums avoid a dependency chain.
float read_rows_in_order(float const* data, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  constexpr std::int64_t lanes = 16, waiting = 4;
  Line sums[waiting] = {};
  Line line;
  for (std::int64_t row = 0; row < rows; ++row) {
    float const* const first = data + row * pitch;
    std::int64_t i = 0;
    for (; i + waiting * lanes <= columns; i += waiting * lanes)
#pragma GCC unroll 4
      for (std::int64_t w = 0; w < waiting; ++w) {
        std::memcpy(&line, first + i + w * lanes, sizeof line);
        sums[w] += line;
      }
    for (; i < columns; i += lanes) {
      // The last line may overlap the one before.
      std::memcpy(&line, first + std::min(i, columns - lanes), sizeof line);
      sums[i / lanes % waiting] += line;
    }
  }
  return sum_of(sums, waiting);
}

/// Reads eight places in turn, with prefetching; each place advances by some rows. The fastest order on some
/// processors.
float read_rows_in_places(float const* data, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  constexpr std::int64_t places = 8, most_of_place = 8192;
  Line sums[places] = {};
  std::int64_t row = 0;
  while (rows - row >= places) {
    std::int64_t const section = std::max<std::int64_t>(1, std::min((rows - row) / places, most_of_place / pitch));
    for (std::int64_t i = 0; i < section; ++i)
      read_lines<places>(sums, data + (row + i) * pitch, section * pitch, columns, pitch - columns);
    row += section * places;
  }
  for (; row < rows; ++row) read_lines<1>(sums, data + row * pitch, 0, columns, pitch - columns);
  return sum_of(sums, places);
}

}  // namespace

extern "C" {

/// Reads each line of `columns` elements (at least 16) once, in each row of each plane. The result is not the exact
/// sum; it only keeps the compiler from dropping the reads.
float read_once(float const* data, std::int64_t planes, std::int64_t plane, std::int64_t rows, std::int64_t pitch,
                std::int64_t columns, int in_order, int threads) {
  auto const read_rows = in_order != 0 ? read_rows_in_order : read_rows_in_places;
  std::vector<float> sums(static_cast<std::size_t>(threads));
  on_threads(threads, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t)
      for (std::int64_t p = 0; p < planes; ++p) {
        std::int64_t const top = rows * t / threads;
        sums[static_cast<std::size_t>(t)] +=
            read_rows(data + p * plane + top * pitch, rows * (t + 1) / threads - top, columns, pitch);
      }
  });
  float total = 0;
  for (float const sum : sums) total += sum;
  return total;
}

/// Returns 1 if the module was built with OpenMP.
int has_openmp() {
#ifdef _OPENMP
  return 1;
#else
  return 0;
#endif
}

/// Loops over rows of the last dimension, with outer indices hoisted and OpenMP.
void rows_openmp_f32(float* data, std::int64_t n0, std::int64_t n1, std::int64_t n2, int threads) {
  (void)threads;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n0; ++i) {
    for (std::int64_t j = 0; j < n1; ++j) add_row(data + (i * n1 + j) * n2, static_cast<std::int32_t>(i + j), n2);
  }
}

/// Loops like `rows_openmp_f32`, with threads started for each call.
void rows_threads_f32(float* data, std::int64_t n0, std::int64_t n1, std::int64_t n2, int threads) {
  on_threads(n0 * n1, threads, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      add_row(data + r * n2, static_cast<std::int32_t>(r / n1 + r % n1), n2);
    }
  });
}

/// Runs one flat loop that divides to get its indices, with OpenMP.
void flat_openmp_f32(float* data, std::int64_t n0, std::int64_t n1, std::int64_t n2, int threads) {
  (void)threads;
  std::int64_t const size = n0 * n1 * n2;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t linear = 0; linear < size; ++linear) {
    std::int64_t const row = linear / n2;
    data[linear] += static_cast<float>(row / n1 + row % n1 + linear % n2);
  }
}

/// Adds the index in one dimension.
void ramp_openmp_f32(float* data, std::int64_t size, int threads) {
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(size); ++i) data[i] += static_cast<float>(i);
}

void ramp_threads_f32(float* data, std::int64_t size, int threads) {
  on_threads(size, threads, [=](std::int64_t begin, std::int64_t end) {
    add_row(data + begin, static_cast<std::int32_t>(begin), end - begin);
  });
}

/// Adds the index sum to each element of an N x 3 array of doubles.
void rows_of_3_openmp_f64(double* data, std::int64_t rows, int threads) {
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < rows; ++i) add_rows_of_3(data, i, i + 1);
}

void rows_of_3_threads_f64(double* data, std::int64_t rows, int threads) {
  on_threads(rows, threads, [=](std::int64_t begin, std::int64_t end) { add_rows_of_3(data, begin, end); });
}

}  // extern "C"
