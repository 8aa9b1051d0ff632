#include "injection.hpp"
#include "base/shortened.hpp"

#include <memarray/base/errors.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>

namespace memarray::simulated {
namespace {

#define MEMARRAY_NAME_DRIVER_FUNCTION(name, version, parameters) #name,
constexpr char const* names[] = {MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_NAME_DRIVER_FUNCTION) "cuLaunchKernel"};
#undef MEMARRAY_NAME_DRIVER_FUNCTION
static_assert(std::size(names) == counted_functions);

// memarray never allocates from the device's current pool.
std::string_view as_called(std::string_view name) noexcept {
  return name == "cuMemAllocAsync" ? "cuMemAllocFromPoolAsync" : name;
}

}  // namespace

char const* function_name(std::size_t function) noexcept { return names[function]; }

std::size_t function_index(std::string_view name) {
  auto const* const found = std::find(std::begin(names), std::end(names), as_called(name));
  if (found == std::end(names))
    throw ValueError("'" + memarray::detail::shortened(name, 60) +
                     "' is not a driver function that memarray calls; see driver_functions.hpp");
  return static_cast<std::size_t>(found - std::begin(names));
}

std::optional<cu::Result> Injection::begin(std::size_t function) {
  std::lock_guard const guard(_lock);
  std::uint64_t const call = _calls[function].fetch_add(1, std::memory_order_relaxed) + 1;
  std::optional<cu::Result> result;
  for (Rule const& rule : _rules) {
    if (rule.function != function || call < rule.first || call > rule.last) continue;
    // A failure overrides a drop, a later failure an earlier one.
    if (!result || rule.code != cuda_code::success) result = rule.code;
  }
  return result;
}

void Injection::inject(std::size_t function, int nth, int times, cu::Result code) {
  std::lock_guard const guard(_lock);
  std::uint64_t const first = _calls[function].load(std::memory_order_relaxed) + static_cast<std::uint64_t>(nth);
  std::uint64_t const last =
      times < 0 ? std::numeric_limits<std::uint64_t>::max() : first + static_cast<std::uint64_t>(times) - 1;
  _rules.push_back({function, first, last, code});
}

void Injection::clear() {
  std::lock_guard const guard(_lock);
  _rules.clear();
}

std::uint64_t Injection::calls(std::size_t function) const noexcept {
  return _calls[function].load(std::memory_order_relaxed);
}

std::uint64_t Injection::calls() const noexcept {
  std::uint64_t sum = 0;
  for (auto const& calls : _calls) sum += calls.load(std::memory_order_relaxed);
  return sum;
}

}  // namespace memarray::simulated
