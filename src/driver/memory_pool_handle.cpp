#include <memarray/base/hooks.hpp>
#include <memarray/driver/memory_pool_handle.hpp>

#include "box.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::make_handle;
using detail::record_error;
using detail::succeeded;

constexpr int pools_supported_attribute = 115;  // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED

// CUmemPool_attribute
enum Attribute : int { release_threshold = 4, reserved_now = 5, reserved_high = 6, used_now = 7, used_high = 8 };

struct MemoryPoolBox : Box<cu::MemoryPool> {
  MemoryPoolBox(DriverTable const* table, ContextHandle of) noexcept : Box(table), context(std::move(of)) {}
  ~MemoryPoolBox() {
    DriverTable const* const table = to_destroy();
    if (!table) return;
    RuntimeRelease const released;
    static_cast<void>(table->cuMemPoolDestroy(resource));
  }

  ContextHandle context;
};

cu::Result check_supported(DriverTable const& table, int device_id) noexcept {
  int supported = 0;
  cu::Result const result = table.cuDeviceGetAttribute(&supported, pools_supported_attribute, device_id);
  return result == 0 && supported == 0 ? cuda_code::not_supported : result;
}

template <class Create>
MemoryPoolHandle make_pool(int device_id, Create const& create) noexcept {
  ContextHandle context = get_primary_context(device_id);
  if (!context) return nullptr;
  DriverTable const* const table = driver_of(context);
  return make_handle<MemoryPoolBox>(
      [&](MemoryPoolBox& box) {
        RuntimeRelease const released;
        return create(*table, box);
      },
      table, std::move(context));
}

DriverTable const* usable(MemoryPoolHandle const& pool) noexcept {
  if (!pool) return detail::null_for_null(cuda_code::invalid_handle);
  DriverTable const* const table = box_of<MemoryPoolBox>(pool).of_this_process();
  if (!table) record_error(cuda_code::not_initialized);
  return table;
}

}  // namespace

MemoryPoolHandle create_memory_pool_handle(int device_id, MemoryPoolOptions const& options) noexcept {
  return make_pool(device_id, [&](DriverTable const& table, MemoryPoolBox& box) {
    cu::Result result = check_supported(table, device_id);
    if (result != 0) return result;
    cu::MemoryPoolProperties properties;
    properties.location_id = device_id;
    properties.max_size = options.max_size;
    result = table.cuMemPoolCreate(&box.resource, &properties);
    if (result != 0) return result;
    box.owned = true;
    std::uint64_t threshold = options.release_threshold;
    return table.cuMemPoolSetAttribute(box.resource, release_threshold, &threshold);
  });
}

MemoryPoolHandle get_device_memory_pool(int device_id) noexcept {
  return make_pool(device_id, [&](DriverTable const& table, MemoryPoolBox& box) {
    cu::Result const result = check_supported(table, device_id);
    return result != 0 ? result : table.cuDeviceGetDefaultMemPool(&box.resource, device_id);
  });
}

MemoryPoolHandle create_memory_pool_handle_ref(cu::MemoryPool pool, int device_id) noexcept {
  return create_memory_pool_handle_with_owner(pool, nullptr, device_id);
}

MemoryPoolHandle create_memory_pool_handle_with_owner(cu::MemoryPool pool, KeepAlive owner, int device_id) noexcept {
  return make_pool(device_id, [&](DriverTable const&, MemoryPoolBox& box) {
    box.resource = pool;
    box.owner = std::move(owner);
    return 0;
  });
}

ContextHandle const& context_of(MemoryPoolHandle const& pool) noexcept {
  return pool ? box_of<MemoryPoolBox>(pool).context : detail::no_context;
}

bool get_statistics(MemoryPoolHandle const& pool, MemoryPoolStatistics& statistics) noexcept {
  DriverTable const* const table = usable(pool);
  if (!table) return false;
  MemoryPoolStatistics read;
  auto const get = [&](Attribute attribute, std::uint64_t& value) {
    return succeeded(table->cuMemPoolGetAttribute(*pool, attribute, &value));
  };
  bool const all = get(reserved_now, read.reserved) && get(reserved_high, read.reserved_high) &&
                   get(used_now, read.used) && get(used_high, read.used_high);
  if (all) statistics = read;
  return all;
}

bool set_release_threshold(MemoryPoolHandle const& pool, std::uint64_t bytes) noexcept {
  DriverTable const* const table = usable(pool);
  return table && succeeded(table->cuMemPoolSetAttribute(*pool, release_threshold, &bytes));
}

bool trim(MemoryPoolHandle const& pool, std::size_t bytes_to_keep) noexcept {
  DriverTable const* const table = usable(pool);
  RuntimeRelease const released;
  return table && succeeded(table->cuMemPoolTrimTo(*pool, bytes_to_keep));
}

}  // namespace memarray
