#pragma once

#include <memarray/detail/memory/stream_uses.hpp>
#include <memarray/detail/state/state.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace memarray::detail {

/// The lock, held for the length of one whole-array operation, and the memory that it may use.
///
/// Under the `lock_id` of an open write lease it takes nothing and works in place. Otherwise it takes the word or
/// throws at once. Under kept views a write goes to fresh memory (`write` to a copy), which becomes the array's in
/// `commit`: without that the array is as it was. On a device the operation is work in a stream that comes after what
/// it must come after; `commit` says that it was submitted.
class MEMARRAY_API Hold {
 public:
  using Access = State::Access;

  enum Mode {
    plain,
    in_place,       ///< the caller brings its own fresh memory, or needs none, and orders its work itself
    past_writers,   ///< the caller holds a read of this array already
    orders_itself,  ///< what the caller calls orders itself behind the memory's users
  };
  /// What `commit` is told of.
  enum class Work {
    submitted,  ///< it ends when the stream has come so far
    counted,    ///< the same, and the memory knows already
    over,       ///< it has ended
  };

  /// `what` says in errors what was refused: "fill". `stream`: where the operation runs if the array is on a device.
  Hold(State& state, Access access, std::int64_t lock_id, char const* what, Mode mode = plain,
       StreamChoice const& stream = {});
  ~Hold();
  Hold(Hold const&) = delete;
  Hold& operator=(Hold const&) = delete;

  /// Where the old contents are read, as a kernel sees it that runs where the array is.
  [[nodiscard]] std::byte const* source() const noexcept;
  /// Where the new ones are written: `source()`, unless views were kept.
  [[nodiscard]] std::byte* target() const noexcept;
  [[nodiscard]] Block& target_block() const noexcept { return _fresh ? *_fresh : *_state->storage().block(); }
  [[nodiscard]] bool is_in_place() const noexcept { return !_fresh; }
  [[nodiscard]] State& state() const noexcept { return *_state; }
  /// Of an array on a device: where the operation runs.
  [[nodiscard]] Queue const& queue() const noexcept { return *_queue; }
  [[nodiscard]] DeviceMemory& memory() const noexcept { return _state->storage().block()->uses()->memory(); }
  /// The end of what was submitted to it, to `commit` several holds with.
  [[nodiscard]] StreamUse end() const noexcept { return end_of(*_queue, memory()); }
  /// The work is done, or submitted: its result is the array's contents.
  void commit(Work work = Work::submitted) noexcept;
  void commit(StreamUse const& end) noexcept;
  /// The operation has failed, but work on the memory may be going on: whoever comes next comes after it.
  void left_running() noexcept;

 private:
  void prepare(Mode mode, StreamChoice const& stream);
  void used(StreamUse const& end) noexcept;
  void publish() noexcept;

  State* _state;
  Access _access;
  bool _taken;
  BlockPtr _fresh;
  std::optional<Queue> _queue;
};

}  // namespace memarray::detail
