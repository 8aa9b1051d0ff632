#pragma once

#include <memarray/driver/driver_functions.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace memarray::simulated {

/// The parts of a handle's value, which is no address and never reused: foreign and destroyed handles are recognized.
struct HandleParts {
  std::uint64_t kind;
  std::uint32_t session;
  std::uint32_t serial;
};

template <typename Handle>
inline constexpr std::uint64_t kind_of = 0;
template <>
inline constexpr std::uint64_t kind_of<cu::Context> = 1;
template <>
inline constexpr std::uint64_t kind_of<cu::Stream> = 2;
template <>
inline constexpr std::uint64_t kind_of<cu::Event> = 3;
template <>
inline constexpr std::uint64_t kind_of<cu::MemoryPool> = 4;

template <typename Handle>
[[nodiscard]] Handle encode(std::uint32_t session, std::uint32_t serial) noexcept {
  std::uint64_t const mark = (std::uint64_t{4} << 60) | (kind_of<Handle> << 56);
  return reinterpret_cast<Handle>(mark | (std::uint64_t{session & 0xfffffU} << 36) | (std::uint64_t{serial} << 4));
}

/// Returns none unless the value is a simulated handle of this kind.
template <typename Handle>
[[nodiscard]] std::optional<HandleParts> decode(Handle handle) noexcept {
  auto const value = reinterpret_cast<std::uint64_t>(handle);
  if (value >> 60 != 4 || (value >> 56 & 0xf) != kind_of<Handle> || (value & 0xf) != 0) return std::nullopt;
  return HandleParts{value >> 56 & 0xf, static_cast<std::uint32_t>(value >> 36 & 0xfffff),
                     static_cast<std::uint32_t>(value >> 4)};
}

/// The existing resources of one kind.
template <typename T, typename Handle>
class Handles {
 public:
  [[nodiscard]] Handle next(std::uint32_t session) noexcept { return encode<Handle>(session, ++_serial); }
  void add(Handle handle, std::shared_ptr<T> resource) { _known.emplace(handle, std::move(resource)); }
  [[nodiscard]] std::shared_ptr<T> find(Handle handle) const {
    auto const found = _known.find(handle);
    return found == _known.end() ? nullptr : found->second;
  }
  void remove(Handle handle) { _known.erase(handle); }
  [[nodiscard]] bool was_destroyed(Handle handle, std::uint32_t session) const noexcept {
    auto const parts = decode(handle);
    return parts && parts->session == session && parts->serial <= _serial && !_known.contains(handle);
  }
  [[nodiscard]] auto const& all() const noexcept { return _known; }

 private:
  std::unordered_map<Handle, std::shared_ptr<T>> _known;
  std::uint32_t _serial = 0;
};

}  // namespace memarray::simulated
