#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace memarray::detail {

/// Reads the processor's counter, faster than `steady_clock`. For decisions, not for measurements.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Returns at least 1. The first call measures, for 50 µs.
[[nodiscard]] std::uint64_t ticks_of_microsecond() noexcept;

}  // namespace memarray::detail
