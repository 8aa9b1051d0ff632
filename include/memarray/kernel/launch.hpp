#pragma once

#include <memarray/base/shape.hpp>
#include <memarray/detail/launch/run_host.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

namespace memarray {

namespace detail {
struct StreamIsMissing;  // return type of deleted overloads
}

/// Settings of one launch, in place of its stream: `for_each_index({n}, launch{.threads = 2}, f, read(a), …)`. On the
/// host, `threads` and `grain` replace the estimate of work; devices ignore them.
struct launch {
  StreamHandle stream = default_stream();
  Index threads = 0;  ///< at most; 0: those of the process, if sharing pays
  Index grain = 0;    ///< least indices that a thread takes at a time; 0: by time and memory
};

namespace detail {

[[nodiscard]] constexpr LoopSharing sharing_of(launch const& settings) noexcept {
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  return {static_cast<int>(std::clamp(settings.threads.value, -most, most)), settings.grain};
}

/// A type that names a stream for a kernel without a conversion.
template <class On>
concept NamesStream = std::same_as<On, StreamHandle> || std::same_as<On, launch>;

}  // namespace detail

/// A parameter that borrows a stream or launch settings. Integers and null pointers do not convert: pass
/// `default_stream()`.
struct StreamOrLaunch {
  StreamHandle const& stream;
  detail::LoopSharing sharing{};

  StreamOrLaunch(StreamHandle const& given) noexcept : stream(given) {}  // NOLINT(google-explicit-constructor)
  StreamOrLaunch(launch const& settings) noexcept                        // NOLINT(google-explicit-constructor)
      : stream(settings.stream), sharing(detail::sharing_of(settings)) {}
  template <class NotAStream>
  StreamOrLaunch(NotAStream const&) = delete;  // NOLINT(google-explicit-constructor)
};

}  // namespace memarray
