#include <memarray/interop/c_api.h>
#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/version.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include "array_ref.hpp"
#include "c_resources.hpp"
#include "failure.hpp"
#include "ref.hpp"

#define MEMARRAY_QUOTE_VALUE(x) #x
#define MEMARRAY_QUOTE(x) MEMARRAY_QUOTE_VALUE(x)

namespace memarray {
namespace {

using detail::give;
using detail::none_null;
using detail::release;
using detail::retain;

int status(bool succeeded) noexcept { return succeeded ? 0 : -1; }

// Code 500 for a null handle: no call failed, but the resource does not exist.
template <class Ref>
Ref give_if_any(typename std::remove_pointer_t<Ref>::Handle handle) noexcept {
  return detail::succeeded(handle ? 0 : cuda_code::not_found) ? give<Ref>(std::move(handle)) : nullptr;
}

template <class Object>
std::intptr_t to_integer(Object* ref) noexcept {
  return ref ? as_intptr(ref->handle) : 0;
}

template <class Raw>
Raw from_integer(std::intptr_t raw) noexcept {
  return (Raw)raw;  // NOLINT: a pointer or a number
}

ContextHandle optional(MemArrayContextRef context) noexcept { return context ? context->handle : nullptr; }

// A caller's owner, dropped at once if memory is short.
struct Owner {
  Owner(void* owner, MemArrayDrop drop) noexcept {
    try {
      keep = KeepAlive(static_cast<void const*>(owner), [drop](void const* kept) {
        if (drop) drop(const_cast<void*>(kept));
      });
    } catch (std::bad_alloc const&) {
      detail::record_error(cuda_code::out_of_memory);
    }
  }
  explicit operator bool() const noexcept { return keep.use_count() != 0; }

  KeepAlive keep;
};

std::size_t describe_error(int code, char const* what, char* buffer, std::size_t size) noexcept {
  auto const copy = [&](std::string_view words) {
    if (size == 0) return words.size();
    std::size_t const length = std::min(words.size(), size - 1);
    std::memcpy(buffer, words.data(), length);
    buffer[length] = '\0';
    return words.size();
  };
  if (!what) what = "a call";
  try {
    detail::throw_failure(code, what);
  } catch (std::bad_alloc const&) {
    return copy(what);
  } catch (std::exception const& error) {
    return copy(error.what());
  }
}

int raise_last_error(char const* what) noexcept {
  auto const raise = hooks().raise;
  if (!raise) return -1;
  if (!what) what = "a call";
  try {
    if (peek_last_error() == 0) throw Error(std::string(what) + " failed, but no error is set");
    detail::throw_failure(get_last_error(), what);
  } catch (...) {
    raise();
  }
  return -1;
}

int statistics_of(MemArrayMemoryPoolRef pool, MemArrayMemoryPoolStatistics* statistics) noexcept {
  MemoryPoolStatistics now;
  if (!none_null(pool, statistics) || !get_statistics(pool->handle, now)) return -1;
  *statistics = {now.reserved, now.reserved_high, now.used, now.used_high};
  return 0;
}

int seconds_between(MemArrayEventRef start, MemArrayEventRef end, double* seconds) noexcept {
  if (!none_null(start, end, seconds)) return -1;
  std::optional<double> const passed = elapsed(start->handle, end->handle);
  if (passed) *seconds = *passed;
  return status(passed.has_value());
}

int has_ended(MemArrayEventRef event) noexcept {
  if (!none_null(event)) return -1;
  std::optional<bool> const ended = query(event->handle);
  return ended ? static_cast<int>(*ended) : -1;
}

constexpr MemArrayAPI table = {
    .major = MEMARRAY_C_API_MAJOR,
    .minor = MEMARRAY_C_API_MINOR,
    .size = sizeof(MemArrayAPI),

    .version =
        [] {
          return MEMARRAY_QUOTE(MEMARRAY_VERSION_MAJOR) "." MEMARRAY_QUOTE(MEMARRAY_VERSION_MINOR) "." MEMARRAY_QUOTE(
              MEMARRAY_VERSION_PATCH);
        },
    .device_count = device_count,
    .is_simulated = []() -> int {
      DriverTable const* const now = driver();
      return now && now->is_simulated();
    },

    .get_last_error = get_last_error,
    .peek_last_error = peek_last_error,
    .clear_last_error = clear_last_error,
    .describe_error = describe_error,
    .raise_last_error = raise_last_error,
    .drop_object = detail::drop_object,

    .get_primary_context = [](int device_id) { return give<MemArrayContextRef>(get_primary_context(device_id)); },
    .get_current_context = [] { return give<MemArrayContextRef>(get_current_context()); },
    .create_context = [](int device_id,
                         unsigned flags) { return give<MemArrayContextRef>(create_context_handle(device_id, flags)); },
    .create_context_ref =
        [](std::intptr_t context) {
          return give<MemArrayContextRef>(create_context_handle_ref(from_integer<cu::Context>(context)));
        },
    .create_context_with_owner = [](std::intptr_t context, void* owner, MemArrayDrop drop) -> MemArrayContextRef {
      Owner kept(owner, drop);
      if (!kept) return nullptr;
      return give<MemArrayContextRef>(
          create_context_handle_with_owner(from_integer<cu::Context>(context), std::move(kept.keep)));
    },
    .retain_context = retain<MemArrayContext>,
    .release_context = release<MemArrayContext>,
    .context_as_intptr = to_integer<MemArrayContext>,
    .context_device_id =
        [](MemArrayContextRef context) { return none_null(context) ? device_id_of(context->handle) : -1; },

    .get_default_stream = [] { return give<MemArrayStreamRef>(default_stream()); },
    .get_legacy_stream = [] { return give<MemArrayStreamRef>(get_legacy_stream()); },
    .get_per_thread_stream = [] { return give<MemArrayStreamRef>(get_per_thread_stream()); },
    .create_stream = [](MemArrayContextRef context, int nonblocking, int priority) -> MemArrayStreamRef {
      if (!none_null(context)) return nullptr;
      return give<MemArrayStreamRef>(create_stream_handle(context->handle, nonblocking != 0, priority));
    },
    .create_stream_ref =
        [](std::intptr_t stream, MemArrayContextRef context) {
          return give<MemArrayStreamRef>(create_stream_handle_ref(from_integer<cu::Stream>(stream), optional(context)));
        },
    .create_stream_with_owner = [](std::intptr_t stream, void* owner, MemArrayDrop drop,
                                   MemArrayContextRef context) -> MemArrayStreamRef {
      Owner kept(owner, drop);
      if (!kept) return nullptr;
      return give<MemArrayStreamRef>(
          create_stream_handle_with_owner(from_integer<cu::Stream>(stream), std::move(kept.keep), optional(context)));
    },
    .retain_stream = retain<MemArrayStream>,
    .release_stream = release<MemArrayStream>,
    .stream_as_intptr = to_integer<MemArrayStream>,
    .stream_context = [](MemArrayStreamRef stream) -> MemArrayContextRef {
      return none_null(stream) ? give_if_any<MemArrayContextRef>(context_of(stream->handle)) : nullptr;
    },
    .synchronize_stream =
        [](MemArrayStreamRef stream, MemArrayContextRef context) {
          return status(none_null(stream) && synchronize(stream->handle, optional(context)));
        },
    .synchronize_all = [] { return status(synchronize_all()); },

    .create_event = [](MemArrayContextRef context, int timing) -> MemArrayEventRef {
      return none_null(context) ? give<MemArrayEventRef>(create_event_handle(context->handle, timing != 0)) : nullptr;
    },
    .create_event_ref = [](std::intptr_t event, MemArrayContextRef context) -> MemArrayEventRef {
      if (!none_null(context)) return nullptr;
      return give<MemArrayEventRef>(create_event_handle_ref(from_integer<cu::Event>(event), context->handle));
    },
    .create_event_with_owner = [](std::intptr_t event, void* owner, MemArrayDrop drop,
                                  MemArrayContextRef context) -> MemArrayEventRef {
      Owner kept(owner, drop);
      if (!kept || !none_null(context)) return nullptr;
      return give<MemArrayEventRef>(
          create_event_handle_with_owner(from_integer<cu::Event>(event), std::move(kept.keep), context->handle));
    },
    .retain_event = retain<MemArrayEvent>,
    .release_event = release<MemArrayEvent>,
    .event_as_intptr = to_integer<MemArrayEvent>,
    .event_context = [](MemArrayEventRef event) -> MemArrayContextRef {
      return none_null(event) ? give_if_any<MemArrayContextRef>(context_of(event->handle)) : nullptr;
    },
    .record_event =
        [](MemArrayEventRef event, MemArrayStreamRef stream) {
          return status(none_null(event, stream) && record(event->handle, stream->handle));
        },
    .wait_event =
        [](MemArrayStreamRef stream, MemArrayEventRef event) {
          return status(none_null(stream, event) && wait(stream->handle, event->handle));
        },
    .synchronize_event = [](MemArrayEventRef event) { return status(none_null(event) && synchronize(event->handle)); },
    .query_event = has_ended,
    .elapsed = seconds_between,

    .create_memory_pool =
        [](int device_id, std::uint64_t release_threshold, std::size_t max_size) {
          return give<MemArrayMemoryPoolRef>(
              create_memory_pool_handle(device_id, {.release_threshold = release_threshold, .max_size = max_size}));
        },
    .get_device_memory_pool =
        [](int device_id) { return give<MemArrayMemoryPoolRef>(get_device_memory_pool(device_id)); },
    .create_memory_pool_ref =
        [](std::intptr_t pool, int device_id) {
          return give<MemArrayMemoryPoolRef>(
              create_memory_pool_handle_ref(from_integer<cu::MemoryPool>(pool), device_id));
        },
    .create_memory_pool_with_owner = [](std::intptr_t pool, void* owner, MemArrayDrop drop,
                                        int device_id) -> MemArrayMemoryPoolRef {
      Owner kept(owner, drop);
      if (!kept) return nullptr;
      return give<MemArrayMemoryPoolRef>(
          create_memory_pool_handle_with_owner(from_integer<cu::MemoryPool>(pool), std::move(kept.keep), device_id));
    },
    .retain_memory_pool = retain<MemArrayMemoryPool>,
    .release_memory_pool = release<MemArrayMemoryPool>,
    .memory_pool_as_intptr = to_integer<MemArrayMemoryPool>,
    .memory_pool_context = [](MemArrayMemoryPoolRef pool) -> MemArrayContextRef {
      return none_null(pool) ? give_if_any<MemArrayContextRef>(context_of(pool->handle)) : nullptr;
    },
    .get_memory_pool_statistics = statistics_of,
    .set_release_threshold =
        [](MemArrayMemoryPoolRef pool, std::uint64_t bytes) {
          return status(none_null(pool) && set_release_threshold(pool->handle, bytes));
        },
    .trim_memory_pool =
        [](MemArrayMemoryPoolRef pool, std::size_t bytes_to_keep) {
          return status(none_null(pool) && trim(pool->handle, bytes_to_keep));
        },

    .allocate_from_pool = [](MemArrayMemoryPoolRef pool, MemArrayStreamRef stream,
                             std::size_t bytes) -> MemArrayDevicePtrRef {
      if (!none_null(pool, stream)) return nullptr;
      return give<MemArrayDevicePtrRef>(allocate_from_pool(pool->handle, stream->handle, bytes));
    },
    .allocate_device = [](MemArrayContextRef context, std::size_t bytes) -> MemArrayDevicePtrRef {
      return none_null(context) ? give<MemArrayDevicePtrRef>(allocate_device(context->handle, bytes)) : nullptr;
    },
    .allocate_managed = [](MemArrayContextRef context, std::size_t bytes) -> MemArrayDevicePtrRef {
      return none_null(context) ? give<MemArrayDevicePtrRef>(allocate_managed(context->handle, bytes)) : nullptr;
    },
    .allocate_pinned = [](MemArrayContextRef context, std::size_t bytes) -> MemArrayDevicePtrRef {
      return none_null(context) ? give<MemArrayDevicePtrRef>(allocate_pinned(context->handle, bytes)) : nullptr;
    },
    .create_device_ptr_ref =
        [](std::intptr_t pointer) {
          return give<MemArrayDevicePtrRef>(create_device_ptr_handle_ref(from_integer<cu::DevicePtr>(pointer)));
        },
    .create_device_ptr_with_owner = [](std::intptr_t pointer, void* owner, MemArrayDrop drop) -> MemArrayDevicePtrRef {
      Owner kept(owner, drop);
      if (!kept) return nullptr;
      return give<MemArrayDevicePtrRef>(
          create_device_ptr_handle_with_owner(from_integer<cu::DevicePtr>(pointer), std::move(kept.keep)));
    },
    .retain_device_ptr = retain<MemArrayDevicePtr>,
    .release_device_ptr = release<MemArrayDevicePtr>,
    .device_ptr_as_intptr = to_integer<MemArrayDevicePtr>,
    .deallocation_stream = [](MemArrayDevicePtrRef pointer) -> MemArrayStreamRef {
      return none_null(pointer) ? give_if_any<MemArrayStreamRef>(deallocation_stream(pointer->handle)) : nullptr;
    },
    .set_deallocation_stream =
        [](MemArrayDevicePtrRef pointer, MemArrayStreamRef stream) {
          if (!none_null(pointer, stream)) return -1;
          set_deallocation_stream(pointer->handle, stream->handle);
          return 0;
        },
    .free_after =
        [](MemArrayDevicePtrRef pointer, MemArrayEventRef event) {
          if (!none_null(pointer, event)) return -1;
          return status(
              detail::succeeded(free_after(pointer->handle, event->handle) ? 0 : int{cuda_code::out_of_memory}));
        },

    .hold_object = detail::hold_object,
    .array_as_pointer = detail::array_as_pointer,
    .view_as_pointer = detail::view_as_pointer,

    .arrays = &detail::array_api,
    .views = &detail::view_api,
};

}  // namespace
}  // namespace memarray

MemArrayAPI const* memarray_c_api(void) { return &memarray::table; }
