#pragma once

#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/state/array_state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace memarray::detail {

/// The lock of an array for one whole-array operation, and the memory that the operation may use.
///
/// Under the `lock_id` of an open write lease it acquires nothing and works in place. Otherwise it acquires the lock or
/// throws at once. If views have escaped, a write goes to fresh memory (`write`: to a copy), which `commit` makes the
/// array's; without `commit` the array is as it was. On a device the operation is work in a stream, ordered after the
/// memory's pending work; `commit` records that it was submitted.
class MEMARRAY_API Hold {
 public:
  using Access = ArrayState::Access;

  enum Mode {
    plain,
    in_place,       ///< the caller has fresh memory or needs none, and orders its work itself
    past_writers,   ///< the caller already holds a read of this array
    orders_itself,  ///< the functions that the caller calls order their work themselves
  };
  /// State of the work that `commit` publishes.
  enum class Work {
    submitted,  ///< complete when the stream has reached its present end
    counted,    ///< submitted, and already recorded as pending work of the memory
    over,       ///< complete
  };

  /// `what` names the operation in errors: "fill". `stream`: where it runs if the array is on a device. Throws
  /// `LockError`, `CudaError`, `OutOfMemoryError`.
  Hold(ArrayState& state, Access access, std::int64_t lock_id, char const* what, Mode mode = plain,
       StreamChoice const& stream = {});
  ~Hold();
  Hold(Hold const&) = delete;
  Hold& operator=(Hold const&) = delete;

  /// Returns the address of the old contents, as a kernel sees it that runs where the array is.
  [[nodiscard]] std::byte const* source() const noexcept;
  /// Returns the address for the new contents: `source()`, unless the write goes to fresh memory.
  [[nodiscard]] std::byte* target() const noexcept;
  [[nodiscard]] Block& target_block() const noexcept { return _fresh ? *_fresh : *_state->storage().block(); }
  [[nodiscard]] bool is_in_place() const noexcept { return !_fresh; }
  [[nodiscard]] ArrayState& state() const noexcept { return *_state; }
  /// Returns where the operation runs; only for an array on a device.
  [[nodiscard]] BoundStream const& queue() const noexcept { return *_queue; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _state->storage().block()->uses()->memory(); }
  /// Returns the end of the work submitted so far, to `commit` several holds with.
  [[nodiscard]] PendingWork end() const noexcept { return end_of(*_queue, memory()); }
  /// Makes the result of submitted or complete work the array's contents.
  void commit(Work work = Work::submitted) noexcept;
  void commit(PendingWork const& end) noexcept;
  /// Records that a failed operation may still use the memory, so that the next user waits for it.
  void left_running() noexcept;

 private:
  void prepare(Mode mode, StreamChoice const& stream);
  void used(PendingWork const& end) noexcept;
  void publish() noexcept;

  ArrayState* _state;
  Access _access;
  bool _taken;
  BlockPtr _fresh;
  std::optional<BoundStream> _queue;
};

}  // namespace memarray::detail
