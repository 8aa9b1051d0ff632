#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace memarray::detail {

/// Copies to memory that will not be read soon, without bringing it into the caches. `end_stream_stores` orders what
/// was written so before later stores.
inline void copy_past_caches(void* destination, void const* source, std::size_t bytes) noexcept {
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

inline void end_stream_stores() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace memarray::detail
