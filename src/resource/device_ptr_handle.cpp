#include <memarray/base/hooks.hpp>
#include <memarray/resource/device_ptr_handle.hpp>

#include <new>
#include <vector>

#include "box.hpp"
#include "codes.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::ContextScope;
using detail::make_handle;

constexpr unsigned attach_global_flag = 1;  // CU_MEM_ATTACH_GLOBAL
constexpr unsigned portable_flag = 1;       // CU_MEMHOSTALLOC_PORTABLE

enum class From : unsigned char { elsewhere, pool, device, pinned };

struct DevicePtrBox : Box<cu::DevicePtr> {
  DevicePtrBox(DriverTable const* table, From from_where, ContextHandle of, MemoryPoolHandle of_pool,
               StreamHandle free_in_order_of) noexcept
      : Box(table),
        from(from_where),
        context(std::move(of)),
        pool(std::move(of_pool)),
        stream(std::move(free_in_order_of)) {}

  ~DevicePtrBox() {
    if (!to_destroy()) return;
    // Of the stream's context where that is known: default streams belong to whichever is current.
    ContextScope const scope(context);
    if (!scope.driver()) return;
    RuntimeRelease const released;
    give_back(*scope.driver());
  }

  void give_back(DriverTable const& table) noexcept {
    switch (from) {
      case From::pool:
        for (EventHandle const& event : pending) static_cast<void>(table.cuStreamWaitEvent(*stream, *event, 0));
        static_cast<void>(table.cuMemFreeAsync(resource, *stream));
        break;
      case From::device:
        wait_for_pending(table);
        static_cast<void>(table.cuMemFree(resource));
        break;
      case From::pinned:
        wait_for_pending(table);
        static_cast<void>(table.cuMemFreeHost(reinterpret_cast<void*>(resource)));
        break;
      case From::elsewhere: break;
    }
  }

  // The driver waits for the memory's own device at most.
  void wait_for_pending(DriverTable const& table) const noexcept {
    for (EventHandle const& event : pending) static_cast<void>(table.cuEventSynchronize(*event));
  }

  From from;
  ContextHandle context;
  MemoryPoolHandle pool;
  StreamHandle stream;
  std::vector<EventHandle> pending;
};

template <class Allocate>
DevicePtrHandle allocate(From from, ContextHandle const& context, Allocate const& allocate) noexcept {
  ContextScope const scope(context);
  if (!scope.driver()) return nullptr;
  return make_handle<DevicePtrBox>(
      [&](DevicePtrBox& box) {
        RuntimeRelease const released;
        cu::Result const result = allocate(*scope.driver(), box.resource);
        box.owned = result == 0;
        return result;
      },
      scope.driver(), from, context, nullptr, nullptr);
}

}  // namespace

DevicePtrHandle allocate_from_pool(MemoryPoolHandle const& pool, StreamHandle const& stream,
                                   std::size_t bytes) noexcept {
  ContextHandle const& of_stream = context_of(stream);
  ContextHandle const& context = of_stream ? of_stream : context_of(pool);
  ContextScope const scope(context);
  if (!scope.driver()) return nullptr;
  if (!stream || driver_of(context_of(pool)) != scope.driver()) {
    static_cast<void>(detail::succeeded(code::invalid_handle));
    return nullptr;
  }
  return make_handle<DevicePtrBox>(
      [&](DevicePtrBox& box) {
        RuntimeRelease const released;
        cu::Result const result = scope.driver()->cuMemAllocFromPoolAsync(&box.resource, bytes, *pool, *stream);
        box.owned = result == 0;
        return result;
      },
      scope.driver(), From::pool, context, pool, stream);
}

DevicePtrHandle allocate_device(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(From::device, context,
                  [&](DriverTable const& table, cu::DevicePtr& pointer) { return table.cuMemAlloc(&pointer, bytes); });
}

DevicePtrHandle allocate_managed(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(From::device, context, [&](DriverTable const& table, cu::DevicePtr& pointer) {
    return table.cuMemAllocManaged(&pointer, bytes, attach_global_flag);
  });
}

DevicePtrHandle allocate_pinned(ContextHandle const& context, std::size_t bytes) noexcept {
  return allocate(From::pinned, context, [&](DriverTable const& table, cu::DevicePtr& pointer) {
    void* host = nullptr;
    cu::Result const result = table.cuMemHostAlloc(&host, bytes, portable_flag);
    pointer = reinterpret_cast<cu::DevicePtr>(host);
    return result;
  });
}

DevicePtrHandle create_device_ptr_handle_ref(cu::DevicePtr pointer) noexcept {
  return create_device_ptr_handle_with_owner(pointer, nullptr);
}

DevicePtrHandle create_device_ptr_handle_with_owner(cu::DevicePtr pointer, KeepAlive owner) noexcept {
  return make_handle<DevicePtrBox>(
      [&](DevicePtrBox& box) {
        box.resource = pointer;
        box.owner = std::move(owner);
        return 0;
      },
      nullptr, From::elsewhere, nullptr, nullptr, nullptr);
}

StreamHandle deallocation_stream(DevicePtrHandle const& pointer) noexcept {
  return box_of<DevicePtrBox>(pointer).stream;
}

void set_deallocation_stream(DevicePtrHandle const& pointer, StreamHandle stream) noexcept {
  DevicePtrBox& box = box_of<DevicePtrBox>(pointer);
  if (box.from != From::pool) return;
  if (ContextHandle const& context = context_of(stream)) box.context = context;
  box.stream = std::move(stream);
}

bool free_after(DevicePtrHandle const& pointer, EventHandle event) noexcept {
  try {
    box_of<DevicePtrBox>(pointer).pending.push_back(std::move(event));
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

}  // namespace memarray
