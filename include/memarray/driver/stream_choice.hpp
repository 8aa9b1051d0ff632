#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/stream_handle.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace memarray {

/// The stream that somebody named: by a handle, or by a number as the seed's functions and Python take it (0 and 1: the
/// default stream, 2: the thread's own, −1: no order asked for, else the address of a CUDA stream). A number is looked
/// at when there is something to order, which on the host there is not; until then its stream must live.
class MEMARRAY_API StreamChoice {
 public:
  /// The default stream.
  StreamChoice() noexcept = default;
  /// A null handle is a `ValueError` when it is used.
  StreamChoice(StreamHandle stream) noexcept : _stream(std::move(stream)), _is_named(true) {}
  StreamChoice(std::nullptr_t) = delete;
  /// Throws `ValueError` for a number below −1.
  [[nodiscard]] static StreamChoice numbered(std::int64_t number);

  [[nodiscard]] bool is_default() const noexcept { return !_is_named && _number == 0; }
  /// Throws `CudaError` for a number that the driver does not know, and where there is no driver.
  [[nodiscard]] StreamHandle get() const;

 private:
  StreamHandle _stream;
  std::int64_t _number = 0;
  bool _is_named = false;
};

}  // namespace memarray
