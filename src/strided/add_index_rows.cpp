#include "add_index_rows.hpp"

#include "nontemporal.hpp"
#include "simd_level.hpp"
#include "simd_targets.hpp"

#include <memarray/base/dtype.hpp>
#include <memarray/detail/base/add_wrapping.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <type_traits>

namespace memarray::detail {
namespace {

constexpr std::int64_t short_block = 64;      // elements
constexpr std::int64_t pattern_length = 512;  // elements, which stay in the first-level cache

template <class T, class Index>
MEMARRAY_ALWAYS_INLINE T added(T element, Index sum) {
  return add_wrapping(element, static_cast<T>(sum));
}

template <class T, class Index>
MEMARRAY_ALWAYS_INLINE void add_ramp(T const* source, T* target, Index base, std::int64_t count) {
  auto const length = static_cast<Index>(count);
  if (source == target) {
    for (Index k = 0; k < length; ++k) target[k] = added(target[k], static_cast<Index>(base + k));
  } else {
    T const* __restrict const from = source;
    T* __restrict const to = target;
    for (Index k = 0; k < length; ++k) to[k] = added(from[k], static_cast<Index>(base + k));
  }
}

template <class T, class Index>
MEMARRAY_ALWAYS_INLINE void add_ramp_nontemporal(T const* source, T* target, Index base, std::int64_t count) {
  constexpr std::int64_t piece = 512;
  alignas(64) unsigned char memory[static_cast<std::size_t>(piece) * sizeof(T)];
  auto* const sums = reinterpret_cast<T*>(memory);
  for (std::int64_t done = 0; done < count; done += piece) {
    std::int64_t const length = std::min(piece, count - done);
    add_ramp<T, Index>(source + done, sums, static_cast<Index>(base + done), length);
    copy_nontemporal(target + done, sums, static_cast<std::size_t>(length) * sizeof(T));
  }
}

template <class T, class Index>
MEMARRAY_ALWAYS_INLINE void add_pattern(T const* source, T* target, std::int32_t const* pattern, Index base,
                                        std::int64_t count) {
  auto const length = static_cast<std::int32_t>(count);
  std::int32_t const* __restrict const sums = pattern;
  if (source == target) {
    T* __restrict const to = target;
    for (std::int32_t k = 0; k < length; ++k) to[k] = added(to[k], static_cast<Index>(base + sums[k]));
  } else {
    T const* __restrict const from = source;
    T* __restrict const to = target;
    for (std::int32_t k = 0; k < length; ++k) to[k] = added(from[k], static_cast<Index>(base + sums[k]));
  }
}

template <class T, class Index>
MEMARRAY_ALWAYS_INLINE void add_units(RowsPlan const& plan, T const* source, T* target, std::int64_t begin,
                                      std::int64_t end) {
  while (begin < end) {
    std::int64_t row = begin / plan.extent;
    std::int64_t at = begin % plan.extent;
    std::int64_t const row_end = std::min(plan.extent, at + (end - begin));
    std::int64_t outer_sum = 0;
    for (std::size_t d = plan.outer.size(); d-- > 0;) {
      outer_sum += row % plan.outer[d];
      row /= plan.outer[d];
    }
    if (plan.pattern.empty()) {
      auto const base = static_cast<Index>(outer_sum + at);
      if (plan.nontemporal)
        add_ramp_nontemporal<T, Index>(source + begin, target + begin, base, row_end - at);
      else
        add_ramp<T, Index>(source + begin, target + begin, base, row_end - at);
      begin += row_end - at;
      continue;
    }
    while (at < row_end) {
      std::int64_t const units = std::min(plan.rows_in_pattern, row_end - at);
      add_pattern<T, Index>(source + begin * plan.block, target + begin * plan.block, plan.pattern.data(),
                            static_cast<Index>(outer_sum + at), units * plan.block);
      at += units;
      begin += units;
    }
  }
  if (plan.nontemporal) end_nontemporal_stores();
}

template <class T, class Index>
void add_units_portable(RowsPlan const& plan, T const* source, T* target, std::int64_t begin, std::int64_t end) {
  add_units<T, Index>(plan, source, target, begin, end);
}

#if defined(MEMARRAY_SIMD_TARGETS)
template <class T, class Index>
MEMARRAY_AVX2 void add_units_avx2(RowsPlan const& plan, T const* source, T* target, std::int64_t begin,
                                  std::int64_t end) {
  add_units<T, Index>(plan, source, target, begin, end);
}

template <class T, class Index>
MEMARRAY_AVX512 void add_units_avx512(RowsPlan const& plan, T const* source, T* target, std::int64_t begin,
                                      std::int64_t end) {
  add_units<T, Index>(plan, source, target, begin, end);
}
#endif

}  // namespace

RowsPlan plan_rows(Extents shape) {
  RowsPlan plan;
  std::size_t d = shape.size() - 1;
  while (d > 0 && shape[d] * plan.block < short_block) plan.block *= shape[d--];
  plan.extent = std::max<std::int64_t>(shape[d], 1);
  plan.outer.assign(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(d));
  plan.units = shape[d];
  for (std::int64_t const extent : plan.outer) plan.units *= extent;
  std::int64_t largest = 0;
  for (std::int64_t const extent : shape) largest += std::min<std::int64_t>(extent, INT32_MAX);
  plan.fits_32_bits = largest <= INT32_MAX - pattern_length;
  if (plan.block == 0) plan.units = 0;
  if (plan.units == 0 || d + 1 == shape.size()) return plan;

  plan.rows_in_pattern = std::max<std::int64_t>(1, pattern_length / plan.block);
  plan.pattern.reserve(static_cast<std::size_t>(plan.rows_in_pattern * plan.block));
  for (std::int64_t unit = 0; unit < plan.rows_in_pattern; ++unit)
    for (std::int64_t element = 0; element < plan.block; ++element) {
      std::int64_t sum = unit;
      std::int64_t rest = element;
      for (std::size_t e = shape.size(); e-- > d + 1;) {
        sum += rest % shape[e];
        rest /= shape[e];
      }
      plan.pattern.push_back(static_cast<std::int32_t>(sum));
    }
  return plan;
}

template <class T, class Index>
RowsFunction<T, Index> rows_function() noexcept {
#if defined(MEMARRAY_SIMD_TARGETS)
  if constexpr (std::is_arithmetic_v<T> && sizeof(Index) == 4) {
    switch (widest_simd_level()) {
      case SimdLevel::avx512: return add_units_avx512<T, Index>;
      case SimdLevel::avx2: return add_units_avx2<T, Index>;
      case SimdLevel::baseline: break;
    }
  }
#endif
  return add_units_portable<T, Index>;
}

#define MEMARRAY_INSTANTIATE(type, name, code, bits)                                      \
  template RowsFunction<type, std::int32_t> rows_function<type, std::int32_t>() noexcept; \
  template RowsFunction<type, std::int64_t> rows_function<type, std::int64_t>() noexcept;
MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_INSTANTIATE)
#undef MEMARRAY_INSTANTIATE

}  // namespace memarray::detail
