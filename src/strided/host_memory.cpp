#include "host_memory.hpp"

#include <memarray/base/hooks.hpp>
#include <memarray/base/threads.hpp>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace memarray::detail {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
// For fewer bytes, a `RuntimeRelease` costs too much.
constexpr std::size_t release_bytes = std::size_t{1} << 16;

/// Calls `work(first byte, bytes)` for ranges of `chunk_bytes`.
template <class Work>
void in_chunks(std::size_t bytes, Work const& work) {
  std::optional<RuntimeRelease> released;
  if (bytes >= release_bytes) released.emplace();
  auto const chunks = static_cast<std::int64_t>((bytes + chunk_bytes - 1) / chunk_bytes);
  parallel_for(chunks, [&](std::int64_t chunk) {
    std::size_t const first = static_cast<std::size_t>(chunk) * chunk_bytes;
    work(first, std::min(chunk_bytes, bytes - first));
  });
}

template <std::size_t itemsize>
void fill_row(std::byte* target, std::int64_t stride, std::int64_t count, std::byte const* element) {
  struct Item {
    std::byte bytes[itemsize];
  } item;
  std::memcpy(&item, element, itemsize);
  constexpr auto dense = static_cast<std::int64_t>(itemsize);
  if (stride == dense) {
    // The time of a short loop depends on its address in the program.
#pragma GCC unroll 8
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(target + i * dense, &item, itemsize);
  } else {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(target + i * stride, &item, itemsize);
  }
}

}  // namespace

void copy_host(std::byte* destination, std::byte const* source, std::size_t bytes) {
  if (bytes == 0) return;
  in_chunks(bytes,
            [&](std::size_t first, std::size_t length) { std::memcpy(destination + first, source + first, length); });
}

void fill_host(std::byte* destination, void const* element, std::size_t itemsize, std::size_t count) {
  // `element` may be overwritten.
  auto const* const given = static_cast<std::byte const*>(element);
  std::vector<std::byte> const kept(given, given + itemsize);
  std::byte const* const item = kept.data();
  bool const one_byte = std::all_of(kept.begin(), kept.end(), [&](std::byte b) { return b == item[0]; });
  if (one_byte) {
    in_chunks(itemsize * count, [&](std::size_t first, std::size_t length) {
      std::memset(destination + first, std::to_integer<int>(item[0]), length);
    });
    return;
  }
  std::size_t const per_chunk = std::max<std::size_t>(1, chunk_bytes / itemsize);
  std::optional<RuntimeRelease> released;
  if (itemsize * count >= release_bytes) released.emplace();
  parallel_for(static_cast<std::int64_t>((count + per_chunk - 1) / per_chunk), [&](std::int64_t chunk) {
    std::size_t const first = static_cast<std::size_t>(chunk) * per_chunk;
    std::size_t const length = std::min(per_chunk, count - first);
    std::byte* const start = destination + first * itemsize;
    fill_row(start, static_cast<std::int64_t>(itemsize), static_cast<std::int64_t>(length), item, itemsize);
  });
}

void fill_row(std::byte* target, std::int64_t stride, std::int64_t count, std::byte const* element,
              std::size_t itemsize) {
  switch (itemsize) {
    case 1: return fill_row<1>(target, stride, count, element);
    case 2: return fill_row<2>(target, stride, count, element);
    case 4: return fill_row<4>(target, stride, count, element);
    case 8: return fill_row<8>(target, stride, count, element);
    case 16: return fill_row<16>(target, stride, count, element);
    default:
      for (std::int64_t i = 0; i < count; ++i) std::memcpy(target + i * stride, element, itemsize);
  }
}

}  // namespace memarray::detail
