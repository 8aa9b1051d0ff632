#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lock.hpp"

namespace memarray::simulated {

#define MEMARRAY_COUNT_DRIVER_FUNCTION(name, version, parameters) +1
inline constexpr std::size_t function_count = 0 MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_COUNT_DRIVER_FUNCTION);
#undef MEMARRAY_COUNT_DRIVER_FUNCTION

namespace function {
#define MEMARRAY_ENUMERATE_DRIVER_FUNCTION(name, version, parameters) name,
enum Index : std::size_t { MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_ENUMERATE_DRIVER_FUNCTION) };
#undef MEMARRAY_ENUMERATE_DRIVER_FUNCTION
}  // namespace function
/// The index of kernel launches, named cuLaunchKernel.
inline constexpr std::size_t launch_function = function_count;
inline constexpr std::size_t counted_functions = function_count + 1;
[[nodiscard]] char const* function_name(std::size_t function) noexcept;
/// Throws `ValueError` for an unknown name.
[[nodiscard]] std::size_t function_index(std::string_view name);

/// A session's call counters and rules for failing and dropped calls.
class Injection {
 public:
  /// Counts a call. A returned code is its result, without effect.
  [[nodiscard]] std::optional<cu::Result> begin(std::size_t function);
  /// Adds a rule for `times` calls (-1: all), from the `nth` from now on. Code 0 drops them.
  void inject(std::size_t function, int nth, int times, cu::Result code);
  void clear();
  [[nodiscard]] std::uint64_t calls(std::size_t function) const noexcept;
  [[nodiscard]] std::uint64_t calls() const noexcept;

 private:
  struct Rule {
    std::size_t function;
    std::uint64_t first;
    std::uint64_t last;
    cu::Result code;
  };

  std::array<std::atomic<std::uint64_t>, counted_functions> _calls{};
  Lock _lock;
  std::vector<Rule> _rules;
};

}  // namespace memarray::simulated
