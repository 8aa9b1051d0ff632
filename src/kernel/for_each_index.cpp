#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/kernel/for_each_index.hpp>

namespace memarray::detail {

void throw_shape_mismatch(ArrayState const& state, Extents launch) {
  throw ValueError("for_each_index over " + shape_text(launch) +
                   " sets every element of its overwrite and update arrays, so " + state.describe() +
                   " must have that shape; use write(array) to touch some elements");
}

void throw_given_twice(ArrayState const& state) {
  throw LockError("for_each_index was given " + state.describe() +
                  " twice, and not only to read it: one access cannot be held while the other is");
}

void throw_null_stream() {
  throw ValueError(
      "this stream handle is null: its creation failed, see get_last_error(); for the default stream pass "
      "default_stream()");
}

void check_one_device(std::span<ArrayState const* const> states) {
  ArrayState const& first = *states.front();
  Device const device = first.residency().device();
  for (ArrayState const* const state : states)
    if (Device const other = state->residency().device(); other != device)
      throw Error("a kernel runs where all its arrays are: " + first.describe() + " is on " + to_string(device) + ", " +
                  state->describe() + " on " + to_string(other) + "; call move_memory on one of them first");
}

ExecutionSpace where_all_are(std::span<ArrayState const* const> states) {
  check_one_device(states);
  Residency const& first = states.front()->residency();
  if (!first.on_device()) return ExecutionSpace::host;
  return first.block().uses()->memory().driver().is_simulated() ? ExecutionSpace::simulated : ExecutionSpace::device;
}

}  // namespace memarray::detail
