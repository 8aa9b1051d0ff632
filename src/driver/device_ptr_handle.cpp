#include <memarray/base/hooks.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/driver/device_ptr_handle.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>

#include <cstdint>
#include <new>
#include <vector>

#include "base/thread_number.hpp"
#include "box.hpp"
#include "driver_memory.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::ContextScope;
using detail::make_handle;
using detail::MemoryKind;

struct DevicePtrBox : Box<cu::DevicePtr> {
  DevicePtrBox(DriverTable const* table, MemoryKind of_kind, ContextHandle of, MemoryPoolHandle of_pool,
               StreamHandle free_in_order_of) noexcept
      : Box(table),
        kind(of_kind),
        context(std::move(of)),
        pool(std::move(of_pool)),
        stream(std::move(free_in_order_of)),
        thread(detail::thread_of(stream)) {}

  ~DevicePtrBox() {
    if (!to_destroy()) return;
    // A default stream is that of the current context.
    ContextScope const scope(context);
    if (!scope.driver()) return;
    RuntimeRelease const released;
    testing::detail::WaitSite const site("memory that its last handle frees");
    for (EventHandle const& event : pending) come_after(*scope.driver(), event);
    // The handle of a per-thread default stream names the calling thread's own; another thread's needs a wait.
    if (thread != 0 && thread != detail::this_thread_number()) static_cast<void>(detail::synchronize(context));
    detail::free_memory(*scope.driver(), kind, stream, resource);
  }

  // Blocks unless the stream can wait.
  void come_after(DriverTable const& table, EventHandle const& event) const noexcept {
    if (kind == MemoryKind::pool && detail::wait(table, stream, event) == 0) return;
    static_cast<void>(detail::synchronize(table, event));
  }

  MemoryKind kind;
  ContextHandle context;
  MemoryPoolHandle pool;
  StreamHandle stream;
  std::uint64_t thread;  // of a per-thread default stream
  std::vector<EventHandle> pending;
};

DevicePtrHandle allocate(MemoryKind kind, ContextHandle const& context, std::size_t bytes,
                         MemoryPoolHandle const& pool = nullptr, StreamHandle const& stream = nullptr) noexcept {
  ContextScope const scope(context);
  if (!scope.driver()) return nullptr;
  if (kind == MemoryKind::pool && (!stream || !pool)) return detail::null_for_null(cuda_code::invalid_handle);
  if (kind == MemoryKind::pool && driver_of(context_of(pool)) != scope.driver()) {
    detail::record_error(cuda_code::invalid_handle);
    return nullptr;
  }
  return make_handle<DevicePtrBox>(
      [&](DevicePtrBox& box) {
        RuntimeRelease const released;
        cu::Result const result = detail::allocate_memory(*scope.driver(), kind, pool, stream, bytes, box.resource);
        box.owned = result == 0;
        return result;
      },
      scope.driver(), kind, context, pool, stream);
}

}  // namespace

DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                   std::size_t bytes) noexcept {
  ContextHandle const& of_stream = context_of(stream);
  return allocate(MemoryKind::pool, of_stream ? of_stream : context_of(pool), bytes, pool, stream);
}

DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(MemoryKind::device, context, bytes);
}

DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(MemoryKind::managed, context, bytes);
}

DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(MemoryKind::pinned, context, bytes);
}

DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept {
  return create_device_ptr_handle_with_owner(pointer, nullptr);
}

DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer, KeepAlive owner) noexcept {
  if (!detail::driver_or_error()) return nullptr;
  return make_handle<DevicePtrBox>(
      [&](DevicePtrBox& box) {
        box.resource = pointer;
        box.owner = std::move(owner);
        return 0;
      },
      nullptr, MemoryKind::device, nullptr, nullptr, nullptr);
}

StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept {
  if (!pointer) return detail::null_for_null(cuda_code::invalid_handle);
  return box_of<DevicePtrBox>(pointer).stream;
}

void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept {
  if (!pointer || !stream) {
    detail::fail_for_null(cuda_code::invalid_handle);
    return;
  }
  DevicePtrBox& box = box_of<DevicePtrBox>(pointer);
  if (!box.pool) return;
  if (ContextHandle const& context = context_of(stream)) box.context = context;
  box.thread = detail::thread_of(stream);
  box.stream = std::move(stream);
}

bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept {
  if (!pointer || !event) return detail::fail_for_null(cuda_code::invalid_handle);
  try {
    box_of<DevicePtrBox>(pointer).pending.push_back(std::move(event));
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

}  // namespace memarray
