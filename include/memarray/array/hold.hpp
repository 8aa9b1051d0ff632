#pragma once

#include <memarray/array/state.hpp>

#include <cstddef>
#include <cstdint>

namespace memarray::detail {

/// The lock, held for the length of one whole-array operation, and the memory that it may use.
///
/// Under the `lock_id` of an open write lease it takes nothing and works in place. Otherwise it takes the word or
/// throws at once. Under kept views a write goes to fresh memory (`write` to a copy), which becomes the array's in
/// `commit`: without that the array is as it was.
class MEMARRAY_API Hold {
 public:
  using Access = State::Access;

  enum Mode {
    plain,
    in_place,      ///< the caller brings its own fresh memory, or needs none
    past_writers,  ///< the caller holds a read of this array already
  };

  /// `what` says in errors what was refused: "fill".
  Hold(State& state, Access access, std::int64_t lock_id, char const* what, Mode mode = plain);
  ~Hold();
  Hold(Hold const&) = delete;
  Hold& operator=(Hold const&) = delete;

  /// Where the old contents are read.
  [[nodiscard]] std::byte const* source() const noexcept;
  /// Where the new ones are written: `source()`, unless views were kept.
  [[nodiscard]] std::byte* target() const noexcept;
  [[nodiscard]] bool is_in_place() const noexcept { return !_fresh; }
  [[nodiscard]] State& state() const noexcept { return *_state; }
  /// The work is done: its result is the array's contents.
  void commit() noexcept;

 private:
  State* _state;
  Access _access;
  bool _taken;
  BlockPtr _fresh;
};

}  // namespace memarray::detail
