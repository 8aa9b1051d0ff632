#include <memarray/base/errors.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/last_error.hpp>

#include <cstdint>
#include <string>

#include "base/thread_number.hpp"

namespace memarray::detail {
namespace {

// CUDA names the legacy stream 0 or 1, the per-thread stream 2.
std::intptr_t default_name(StreamHandle const& stream) noexcept {
  std::intptr_t const number = as_intptr(stream);
  return number == 1 ? 0 : number;
}

constexpr std::intptr_t per_thread = 2;

}  // namespace

bool BoundStream::is(BoundStream const& other) const noexcept {
  return lasting && other.lasting && default_name(stream) == default_name(other.stream) &&
         as_cu(context) == as_cu(other.context) && thread == other.thread;
}

bool BoundStream::is_another_threads() const noexcept { return thread != 0 && thread != this_thread_number(); }

std::uint64_t thread_of(StreamHandle const& stream) noexcept {
  return stream && !context_of(stream) && as_intptr(stream) == per_thread ? this_thread_number() : 0;
}

void throw_null_stream() {
  throw ValueError(
      "this stream handle is null: its creation failed, see get_last_error(); for the default stream pass "
      "default_stream()");
}

BoundStream bind_stream(StreamHandle const& stream, ContextHandle const& context) {
  if (!stream) throw_null_stream();
  if (!context) throw ValueError("this context handle is null: its creation failed, see get_last_error()");
  ContextHandle const& of_stream = context_of(stream);
  if (of_stream && of_stream != context) {
    if (driver_of(of_stream) != driver_of(context))
      throw ValueError(
          "the stream belongs to another driver than the memory (one of them is simulated): name a stream that was "
          "made where the memory was, or none");
    if (device_id_of(of_stream) != device_id_of(context))
      throw ValueError("the stream is of cuda:" + std::to_string(device_id_of(of_stream)) + ", the memory of cuda:" +
                       std::to_string(device_id_of(context)) + ": name a stream of that device");
  }
  return {stream, of_stream ? of_stream : context, thread_of(stream), keeps_stream(stream)};
}

}  // namespace memarray::detail
