#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/detail/driver/bound_stream.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/detail/memory/pending_work.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>
#include <memarray/driver/stream_order.hpp>
#include <memarray/memory/driver_resource.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "deferred.hpp"
#include "driver/driver_memory.hpp"

namespace memarray {
namespace {

using detail::ContextScope;
using detail::MemoryKind;

MemoryKind kind_of(MemoryType type, MemoryPoolHandle const& pool) noexcept {
  if (pool) return MemoryKind::pool;
  if (type == MemoryType::device) return MemoryKind::device;
  return type == MemoryType::unified ? MemoryKind::managed : MemoryKind::pinned;
}

void make_room(ContextHandle const& context, MemoryPoolHandle const& pool) {
  detail::run_deferred();
  testing::detail::WaitSite const site("allocating memory, after work that frees some");
  if (detail::synchronize(context))
    report_wait("the device has no memory left, so work was waited for that may free some");
  detail::DeviceMemoryPtr const arrays = detail::DeviceMemory::known(device_id_of(context));
  if (arrays) arrays->trim();
  if (pool && !(arrays && arrays->pool() == pool)) static_cast<void>(trim(pool));
  clear_last_error();
}

template <class Handle>
Handle checked(Handle handle, char const* what) {
  if (handle) return handle;
  if (peek_last_error() == 0) throw ValueError(std::string(what) + " needs a handle that is not null");
  throw_last_error(what);
}

}  // namespace

DriverResource::DriverResource(MemoryType type, ContextHandle context, MemoryPoolHandle pool)
    : _type(type), _context(checked(std::move(context), "allocating device memory")), _pool(std::move(pool)) {}

DriverResource DriverResource::from_pool(MemoryPoolHandle pool) {
  checked(pool, "allocating memory of a pool");
  ContextHandle const context = context_of(pool);
  return {MemoryType::device, context, std::move(pool)};
}

DriverResource DriverResource::device(ContextHandle context) {
  return {MemoryType::device, std::move(context), nullptr};
}

DriverResource DriverResource::managed(ContextHandle context) {
  return {MemoryType::unified, std::move(context), nullptr};
}

DriverResource DriverResource::pinned(ContextHandle context) {
  return {MemoryType::pinned, std::move(context), nullptr};
}

DriverResource DriverResource::of_device(int device_id) {
  if (MemoryPoolHandle pool = create_memory_pool_handle(device_id)) return from_pool(std::move(pool));
  if (peek_last_error() != cuda_code::not_supported) throw_last_error("making a pool of device memory");
  clear_last_error();
  return device(get_primary_context(device_id));
}

void* DriverResource::allocate(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  if (alignment > max_alignment)
    throw ValueError("memory of the driver is aligned to " + std::to_string(max_alignment) + " bytes, not to " +
                     std::to_string(alignment));
  if (!stream) detail::throw_null_stream();
  EnteredContext const scope(_context, "allocating device memory");
  RuntimeRelease const released;
  cu::DevicePtr pointer = 0;
  auto const take = [&] {
    // The driver refuses 0 bytes.
    std::size_t const wanted = std::max<std::size_t>(bytes, 1);
    return detail::allocate_memory(scope.driver(), kind_of(_type, _pool), _pool, stream, wanted, pointer);
  };
  cu::Result result = take();
  if (result == cuda_code::out_of_memory) {
    make_room(_context, _pool);
    result = take();
  }
  if (result != 0) throw_failure(result, bytes);
  return reinterpret_cast<void*>(pointer);
}

void* DriverResource::allocate_zeroed(StreamHandle const& stream, std::size_t bytes, std::size_t alignment) {
  void* const pointer = allocate(stream, bytes, alignment);
  try {
    zero(stream, pointer, bytes);
  } catch (...) {
    deallocate(stream, pointer, bytes, alignment);
    throw;
  }
  return pointer;
}

void DriverResource::deallocate(StreamHandle const& stream, void* pointer, std::size_t bytes,
                                std::size_t alignment) noexcept {
  if (!stream) return deallocate(get_legacy_stream(), pointer, bytes, alignment);
  if (!driver_of(_context)) return;  // a forked child must not free it
  std::optional<ContextScope> scope(std::in_place, _context);
  if (!scope->driver()) scope.emplace(_context);  // no later call could retry
  DriverTable const* const table = scope->driver();
  if (!table) return;
  RuntimeRelease const released;
  testing::detail::WaitSite const site("freeing memory without a pool");
  if (!_pool && table->cuStreamQuery(*stream) != 0) {
    // Leaks memory that work may still use.
    if (detail::synchronize(*table, stream) != 0 && !detail::synchronize(_context) && !is_lost(_context)) return;
    detail::report_blocking("memory without a pool was freed, so earlier work of its stream was waited for");
  }
  detail::free_memory(*table, kind_of(_type, _pool), stream, detail::device_address(pointer));
}

void DriverResource::zero(StreamHandle const& stream, void* pointer, std::size_t bytes) {
  if (!stream) detail::throw_null_stream();
  if (is_host_accessible(_type)) return detail::write_zeros(_type, pointer, bytes);
  if (bytes == 0) return;
  EnteredContext const scope(_context, "zeroing memory of a device");
  RuntimeRelease const released;
  detail::check_driver(scope.driver().cuMemsetD8Async(detail::device_address(pointer), 0, bytes, *stream),
                       "zeroing memory of a device");
}

void DriverResource::throw_failure(cu::Result code, std::size_t bytes) const {
  std::string what = "taking " + std::to_string(bytes) + " bytes of " + std::string(to_string(_type)) + " memory";
  if (code != cuda_code::out_of_memory) throw_driver_error(code, what.c_str());
  ContextScope const scope(_context);
  std::size_t free = 0;
  std::size_t total = 0;
  if (scope.driver() && scope.driver()->cuMemGetInfo(&free, &total) == 0)
    what += " on cuda:" + std::to_string(device_id_of(_context)) + ", where " + std::to_string(free) + " of " +
            std::to_string(total) + " are free,";
  throw_driver_error(code, what.c_str());
}

}  // namespace memarray
