#include <memarray/array/for_each_index.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>

namespace memarray::detail {

void throw_shape_mismatch(State const& state, Extents launch) {
  throw ValueError("for_each_index over " + shape_text(launch) +
                   " sets every element of its overwrite and update arrays, so " + state.describe() +
                   " must have that shape; use write(array) to touch some elements");
}

void throw_given_twice(State const& state) {
  throw LockError("for_each_index was given " + state.describe() +
                  " twice, and not only to read it: one access cannot be held while the other is");
}

void throw_null_stream() {
  throw ValueError(
      "this stream handle is null, which says that its creation failed; for the default stream say "
      "default_stream()");
}

bool on_one_device(std::span<State const* const> states) {
  Device const first = states.front()->device();
  for (State const* const state : states)
    if (state->device() != first)
      throw Error("a kernel runs where all its arrays are: " + states.front()->describe() + " is on " +
                  to_string(first) + ", " + state->describe() + " on " + to_string(state->device()) +
                  "; call move_memory on one of them first");
  return !first.is_cpu();
}

}  // namespace memarray::detail
