#pragma once

#include <memarray/detail/launch/run_host.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstdint>

namespace memarray {

namespace detail {
struct StreamIsMissing;  // return type of deleted overloads
}

/// Settings of one launch, in place of its stream: `for_each_index({n}, launch{.threads = 2}, f, read(a), …)`. On the
/// host, `threads` and `grain` replace the estimate of work; devices ignore them.
struct launch {
  StreamHandle stream = default_stream();
  int threads = 0;         ///< at most; 0: those of the process, if sharing pays
  std::int64_t grain = 0;  ///< least indices that a thread takes at a time; 0: by time and memory
};

/// A parameter that borrows a stream or launch settings. Integers and null pointers do not convert: pass
/// `default_stream()`.
struct StreamOrLaunch {
  StreamHandle const& stream;
  detail::LoopSharing sharing{};

  StreamOrLaunch(StreamHandle const& given) noexcept : stream(given) {}  // NOLINT(google-explicit-constructor)
  StreamOrLaunch(launch const& settings) noexcept                        // NOLINT(google-explicit-constructor)
      : stream(settings.stream), sharing{settings.threads, settings.grain} {}
  template <class NotAStream>
  StreamOrLaunch(NotAStream const&) = delete;  // NOLINT(google-explicit-constructor)
};

}  // namespace memarray
