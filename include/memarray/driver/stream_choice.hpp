#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray {

/// A stream chosen by a handle or by a number, as Python and integer `stream` parameters take it. 0 and 1: the default
/// stream; 2: the per-thread stream; −1: no ordering; otherwise the address of a CUDA stream. A number is resolved only
/// when there is work to order, never on the host. Its stream must live until then.
class MEMARRAY_API StreamChoice {
 public:
  /// The default stream.
  StreamChoice() noexcept = default;
  /// Chooses a stream by its handle. A null handle is a `ValueError` when it is used.
  StreamChoice(StreamHandle stream) noexcept : _stream(std::move(stream)), _is_named(true) {}
  StreamChoice(std::nullptr_t) = delete;
  /// Chooses a stream by its number. Throws `ValueError` for a number below −1.
  [[nodiscard]] static StreamChoice numbered(std::int64_t number);

  [[nodiscard]] bool is_default() const noexcept { return !_is_named && _number == 0; }
  /// Returns the stream's handle. Throws `CudaError` for a number that the driver does not know, or without a driver.
  [[nodiscard]] StreamHandle get() const;

 private:
  StreamHandle _stream;
  std::int64_t _number = 0;
  bool _is_named = false;
};

}  // namespace memarray
