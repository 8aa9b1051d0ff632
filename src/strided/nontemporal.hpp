#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace memarray::detail {

/// Copies with non-temporal stores, for memory not read soon. `end_nontemporal_stores` orders them before later stores.
inline void copy_nontemporal(void* destination, void const* source, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  constexpr std::size_t line = 64;
  auto* to = static_cast<std::byte*>(destination);
  auto const* from = static_cast<std::byte const*>(source);
  std::size_t const misaligned = reinterpret_cast<std::uintptr_t>(to) % line;
  std::size_t const head = std::min(bytes, misaligned == 0 ? 0 : line - misaligned);
  std::memcpy(to, from, head);
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= line; bytes -= line, to += line, from += line)
    for (std::size_t i = 0; i < line; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<__m128i const*>(from + i)));
  std::memcpy(to, from, bytes);
#else
  std::memcpy(destination, source, bytes);
#endif
}

/// A writer of consecutive pieces to one run of memory, with non-temporal stores. Bytes of an incomplete cache line
/// stay here until the next piece or the end: a line written in parts is read first, and later stores wait.
class NonTemporalWriter {
 public:
  static constexpr std::size_t room_bytes = 8192;

  explicit NonTemporalWriter(std::byte* target) noexcept
      : _target(target), _skipped(reinterpret_cast<std::uintptr_t>(target) % line), _filled(_skipped) {}
  NonTemporalWriter(NonTemporalWriter const&) = delete;
  NonTemporalWriter& operator=(NonTemporalWriter const&) = delete;
  ~NonTemporalWriter() { std::memcpy(_target, _buffer + _skipped, _filled - _skipped); }

  /// Returns the place for a piece of up to `room_bytes`.
  [[nodiscard]] std::byte* room() noexcept { return _buffer + _filled; }
  /// Takes the bytes written to `room()`.
  void put(std::size_t bytes) noexcept {
    _filled += bytes;
    std::size_t const whole = _filled / line * line;
    if (whole == 0) return;
    copy_nontemporal(_target, _buffer + _skipped, whole - _skipped);
    _target += whole - _skipped;
    _skipped = 0;
    _filled -= whole;
    std::memcpy(_buffer, _buffer + whole, _filled);
  }
  /// Takes a piece of any size.
  void put(std::byte const* source, std::size_t bytes) noexcept {
    std::size_t const head = std::min(bytes, _filled == 0 ? 0 : line - _filled);
    std::memcpy(room(), source, head);
    put(head);
    if (_filled != 0) return;
    std::size_t const whole = (bytes - head) / line * line;
    copy_nontemporal(_target, source + head, whole);
    _target += whole;
    _filled = bytes - head - whole;
    std::memcpy(_buffer, source + head + whole, _filled);
  }

 private:
  static constexpr std::size_t line = 64;

  std::byte* _target;
  std::size_t _skipped;
  std::size_t _filled;
  alignas(line) std::byte _buffer[line + room_bytes];
};

inline void end_nontemporal_stores() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace memarray::detail
