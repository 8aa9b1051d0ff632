#pragma once

#include <memarray/base/config.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/kernel/kernel_hold.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/detail/launch/run_host.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/stream_handle.hpp>
#include <memarray/kernel/launch.hpp>

#include <cstddef>
#include <optional>
#include <span>

namespace memarray::detail {

/// Arrays and views held for kernels, all or none, until destruction.
class MEMARRAY_API HeldArrays {
 public:
  enum class Extent : bool {
    all,   ///< `update` and `overwrite` arrays are set completely
    part,  ///< their other elements stay
  };

  /// Acquires the arrays and makes the stream wait for their pending work. Throws like `for_each_index`.
  HeldArrays(std::span<KernelHold> holds, StreamOrLaunch const& on, Extent extent);
  /// Releases the arrays. Without `commit`, those with escaped views keep their old contents.
  ~HeldArrays();
  HeldArrays(HeldArrays const&) = delete;
  HeldArrays& operator=(HeldArrays const&) = delete;

  [[nodiscard]] std::span<KernelHold> holds() const noexcept { return _holds; }
  [[nodiscard]] LoopSharing const& sharing() const noexcept { return _sharing; }
  [[nodiscard]] ExecutionSpace where() const noexcept { return _where; }
  /// Returns the sum of the item sizes.
  [[nodiscard]] std::size_t bytes() const noexcept { return _bytes; }
  /// True if launches must fit an `update` or `overwrite` array.
  [[nodiscard]] bool must_fit() const noexcept { return _must_fit; }
  /// Throws `ValueError` unless `result` has one element, `Error` if it is on another device.
  void check_result(KernelHold const& result) const;
  // Require a device.
  [[nodiscard]] BoundStream const& bound_stream() const noexcept { return *_bound_stream; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return *_memory; }

  /// Must precede submitted work: without `commit`, the destructor then records it as pending.
  void mark_begun() noexcept { _has_begun = true; }
  /// Records that a kernel failed: `Held` then does not commit.
  void fail() noexcept { _has_failed = true; }
  [[nodiscard]] bool has_failed() const noexcept { return _has_failed; }
  /// Makes the results the arrays' contents.
  void commit() noexcept;

 private:
  void check_not_twice() const;
  void check_one_device() const;
  void acquire(KernelHold& hold, StreamHandle const& stream, Extent extent, bool again);
  void find_space(StreamHandle const& stream);
  void leave_running() noexcept;
  void release() noexcept;

  std::span<KernelHold> _holds;
  LoopSharing _sharing;
  ExecutionSpace _where = ExecutionSpace::host;
  std::optional<BoundStream> _bound_stream;
  DeviceMemory* _memory = nullptr;
  std::size_t _bytes = 0;
  bool _must_fit = false;
  bool _has_begun = false;
  bool _has_failed = false;
  bool _is_committed = false;
};

}  // namespace memarray::detail
