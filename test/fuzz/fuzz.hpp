#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <source_location>
#include <span>

// Shared by the fuzzers: reading numbers from bytes, and a check that ends the process, as libFuzzer requires.
namespace memarray::fuzz {

/// Reads numbers from bytes, and zeros after their end, so that any bytes are a valid input.
class Input {
 public:
  explicit Input(std::span<std::uint8_t const> bytes) : _bytes(bytes) {}

  template <class T>
  T raw() {
    T value{};
    std::size_t const count = std::min(sizeof(T), _bytes.size());
    std::memcpy(&value, _bytes.data(), count);
    _bytes = _bytes.subspan(count);
    return value;
  }
  /// Returns 0 to `end` − 1; `end` is at most 256.
  std::int64_t below(std::int64_t end) { return raw<std::uint8_t>() % end; }
  bool flag() { return (raw<std::uint8_t>() & 1U) != 0; }
  bool one_in(std::int64_t count) { return below(count) == 1; }
  /// Returns any number: mostly small, or near the limits of arithmetic.
  std::int64_t number() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::array<std::int64_t, 16> edges{0,
                                                 1,
                                                 -1,
                                                 most,
                                                 most - 1,
                                                 -most - 1,
                                                 -most,
                                                 most / 2,
                                                 most / 16,
                                                 -(most / 8),
                                                 1LL << 31,
                                                 (1LL << 31) - 1,
                                                 -(1LL << 31),
                                                 1LL << 32,
                                                 (1LL << 61) + 1,
                                                 1LL << 62};
    switch (below(4)) {
      case 0: return edges[static_cast<std::size_t>(below(16))];
      case 1: return raw<std::int64_t>();
      default: return raw<std::int8_t>();
    }
  }
  [[nodiscard]] bool is_over() const { return _bytes.empty(); }

 private:
  std::span<std::uint8_t const> _bytes;
};

inline void check(bool holds, char const* what, std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: %s\n", where.file_name(), static_cast<unsigned>(where.line()), what);
  std::abort();
}

}  // namespace memarray::fuzz

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);
