#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray {

/// A stream chosen by handle or number. −1, 0 and 1: the default stream; 2: the per-thread stream; otherwise the
/// address of a CUDA stream, which must live until device work resolves it.
class MEMARRAY_API StreamChoice {
 public:
  /// Chooses the default stream.
  StreamChoice() noexcept = default;
  /// A null handle throws `ValueError` on use.
  StreamChoice(StreamHandle stream) noexcept : _stream(std::move(stream)), _is_named(true) {}
  StreamChoice(std::nullptr_t) = delete;
  /// Throws `ValueError` for a number below −1.
  [[nodiscard]] static StreamChoice numbered(std::int64_t number);

  [[nodiscard]] bool is_default() const noexcept { return !_is_named && _number == 0; }
  /// Throws `CudaError` for a number that the driver refuses, or without a driver.
  [[nodiscard]] StreamHandle get() const;

 private:
  StreamHandle _stream;
  std::int64_t _number = 0;
  bool _is_named = false;
};

}  // namespace memarray
