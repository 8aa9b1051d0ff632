#include <memarray/base/hooks.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/stream_handle.hpp>

#include "box.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::ContextScope;
using detail::driver_or_error;
using detail::make_handle;

constexpr unsigned nonblocking_flag = 1;

struct StreamBox : Box<cu::Stream> {
  constexpr StreamBox() noexcept : Box(nullptr) {}
  StreamBox(DriverTable const* table, ContextHandle of) noexcept : Box(table), context(std::move(of)) {}
  ~StreamBox() {
    DriverTable const* const table = to_destroy();
    if (!table) return;
    RuntimeRelease const released;
    static_cast<void>(table->cuStreamDestroy(resource));
  }

  ContextHandle context;
};

// Valid before and after every other static.
union Immortal {
  constexpr Immortal() noexcept : box() {}
  ~Immortal() {}
  StreamBox box;
};

constinit Immortal default_streams[3];

// Only number 0 may be used before this runs.
[[maybe_unused]] bool const numbered = []() noexcept {
  for (std::uintptr_t const number : {std::uintptr_t{1}, std::uintptr_t{2}})
    default_streams[number].box.resource = reinterpret_cast<cu::Stream>(number);
  return true;
}();

// An alias without an owner has no reference count.
StreamHandle immortal(std::uintptr_t number) noexcept {
  return {StreamHandle(), &default_streams[number].box.resource};
}

}  // namespace

StreamHandle default_stream() noexcept { return immortal(0); }
StreamHandle get_legacy_stream() noexcept { return immortal(1); }
StreamHandle get_per_thread_stream() noexcept { return immortal(2); }

StreamHandle create_stream_handle(ContextHandle const& context, bool nonblocking, int priority) noexcept {
  ContextScope const scope(context);
  if (!scope.driver()) return nullptr;
  return make_handle<StreamBox>(
      [&](StreamBox& box) {
        RuntimeRelease const released;
        cu::Result const result =
            scope.driver()->cuStreamCreateWithPriority(&box.resource, nonblocking ? nonblocking_flag : 0, priority);
        box.owned = result == 0;
        return result;
      },
      scope.driver(), context);
}

StreamHandle create_stream_handle_ref(cu::Stream stream, ContextHandle context) noexcept {
  return create_stream_handle_with_owner(stream, nullptr, std::move(context));
}

StreamHandle create_stream_handle_with_owner(cu::Stream stream, KeepAlive owner, ContextHandle context) noexcept {
  if (auto const number = reinterpret_cast<std::uintptr_t>(stream); number <= 2 && !context) return immortal(number);
  DriverTable const* const table = context ? driver_of(context) : driver_or_error();
  if (!table) {
    if (context) detail::record_error(cuda_code::not_initialized);
    return nullptr;
  }
  if (!context) {
    cu::Context of = nullptr;
    if (!detail::succeeded(table->cuStreamGetCtx(stream, &of))) return nullptr;
    context = create_context_handle_ref(of);
    if (!context) return nullptr;
  }
  return make_handle<StreamBox>(
      [&](StreamBox& box) {
        box.resource = stream;
        box.owner = std::move(owner);
        return 0;
      },
      table, std::move(context));
}

ContextHandle const& context_of(StreamHandle const& stream) noexcept {
  return stream ? box_of<StreamBox>(stream).context : detail::no_context;
}

bool detail::keeps_stream(StreamHandle const& stream) noexcept {
  if (!stream) return false;
  StreamBox const& box = box_of<StreamBox>(stream);
  return box.owned || box.owner || !box.context;
}

}  // namespace memarray
