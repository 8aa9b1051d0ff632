#include "deferred.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/memory_pool_handle.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/pooling_adaptor.hpp>

#include <algorithm>
#include <mutex>
#include <new>
#include <string>
#include <utility>

namespace memarray::detail {
namespace {

constexpr std::size_t kept_events = 1024;

struct Known {
  DriverTable const* driver;
  int device_id;
  DeviceMemoryPtr memory;
};

// Never destroyed. Constant-initialised: a fork could leave a static's guard locked.
union Registry {
  constexpr Registry() noexcept : all() {}
  ~Registry() {}
  struct {
    ForkLock lock;
    std::vector<Known> known;
  } all;
};
constinit Registry registry;

ForkLockGuard guard_registry() noexcept {
  return {registry.all.lock, [] { abandon(registry.all.known); }};
}

DeviceMemoryPtr find(DriverTable const* driver, int device_id) noexcept {
  auto const locked = guard_registry();
  for (Known const& known : registry.all.known)
    if (known.driver == driver && known.device_id == device_id) return known.memory;
  return nullptr;
}

constexpr DriverHooks hooks_of_this_layer{&run_deferred, [](DriverTable const* driver) noexcept {
                                            run_deferred();
                                            drop_device_memory(driver);
                                          }};

// Pinned host memory needs deferred frees even without a `DeviceMemory`.
[[maybe_unused]] bool const hooked = []() noexcept {
  set_driver_hooks(&hooks_of_this_layer);
  return true;
}();

}  // namespace

struct DeviceMemory::PooledEvent {
  PooledEvent(DeviceMemoryPtr of, EventHandle taken) noexcept : memory(std::move(of)), event(std::move(taken)) {}
  ~PooledEvent() { memory->take_back(std::move(event)); }
  PooledEvent(PooledEvent const&) = delete;
  PooledEvent& operator=(PooledEvent const&) = delete;
  DeviceMemoryPtr memory;
  EventHandle event;
};

DeviceMemoryPtr DeviceMemory::known(int device_id) noexcept {
  DriverTable const* const table = memarray::driver();
  return table ? find(table, device_id) : nullptr;
}

DeviceMemoryPtr DeviceMemory::of(int device_id) {
  if (DeviceMemoryPtr memory = known(device_id)) return memory;
  ContextHandle context = get_primary_context(device_id);
  if (!context) throw_last_error(("using cuda:" + std::to_string(device_id)).c_str());
  DriverTable const* const table = driver_of(context);
  DeviceMemoryPtr made(new DeviceMemory(device_id, std::move(context)));
  auto const locked = guard_registry();
  for (Known const& other : registry.all.known)
    if (other.driver == table && other.device_id == device_id) return other.memory;
  registry.all.known.push_back({table, device_id, made});
  return made;
}

DeviceMemory::DeviceMemory(int device_id, ContextHandle context)
    : _device_id(device_id),
      _context(std::move(context)),
      _driver(driver_of(_context)),
      _staging_pool(DriverResource::pinned(_context)),
      _staging(_staging_pool) {
  DriverResource const memory = DriverResource::of_device(device_id);
  _pool = memory.pool();
  _memory = memory;
}

DeviceMemory::~DeviceMemory() = default;

ForkLockGuard DeviceMemory::guard() noexcept {
  return {_lock, [this] {
            abandon(_internal_stream);
            abandon(_events);
            abandon(_reached);
          }};
}

BoundStream DeviceMemory::make_stream() const {
  StreamHandle const stream = create_stream_handle(_context);
  if (!stream) throw_last_error("making a stream");
  return bind_stream(stream, _context);
}

BoundStream DeviceMemory::internal_stream() {
  {
    auto const locked = guard();
    if (_internal_stream) return bind_stream(_internal_stream, _context);
  }
  BoundStream made = make_stream();
  auto const locked = guard();
  if (_is_over) return made;
  if (!_internal_stream) _internal_stream = std::move(made.stream);
  return bind_stream(_internal_stream, _context);
}

// NOLINTNEXTLINE(bugprone-exception-escape): `shared_from_this` cannot fail, as this is shared whenever it is used.
EventHandle DeviceMemory::event() noexcept {
  EventHandle event;
  {
    auto const locked = guard();
    if (!_events.empty()) {
      event = std::move(_events.back());
      _events.pop_back();
    }
  }
  if (!event) event = create_event_handle(_context);
  if (!event) return nullptr;
  try {
    cu::Event const* const raw = event.get();
    return {std::make_shared<PooledEvent>(shared_from_this(), std::move(event)), raw};
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

void DeviceMemory::take_back(EventHandle event) noexcept {
  auto const locked = guard();
  if (_is_over || _events.size() >= kept_events) return;
  try {
    _events.push_back(std::move(event));
  } catch (std::bad_alloc const&) {
    // Destroys the event.
  }
}

bool DeviceMemory::reaches(DeviceMemory& other) noexcept {
  if (&other == this) return true;
  if (_driver != other._driver) return false;
  {
    auto const locked = guard();
    if (std::find(_reached.begin(), _reached.end(), other._device_id) != _reached.end()) return true;
  }
  int can = 0;
  if (_driver->cuDeviceCanAccessPeer(&can, other._device_id, _device_id) != 0 || can == 0) return false;
  // Pool memory ignores `cuCtxEnablePeerAccess`.
  if (_pool) {
    cu::MemoryAccess access;
    access.location_id = other._device_id;
    if (_driver->cuMemPoolSetAccess(*_pool, &access, 1) != 0) return false;
  } else {
    ContextScope const scope(other._context);
    if (!scope.driver()) return false;
    if (cu::Result const result = _driver->cuCtxEnablePeerAccess(*_context, 0);
        result != 0 && result != cuda_code::peer_access_already_enabled)
      return false;
  }
  auto const locked = guard();
  try {
    _reached.push_back(other._device_id);
  } catch (std::bad_alloc const&) {
    // The next call enables access again.
  }
  return true;
}

bool DeviceMemory::shares_with_host(void const* address) const noexcept {
  constexpr int is_managed_attribute = 8;
  constexpr int concurrent_managed_access_attribute = 89;
  unsigned int is_managed = 0;
  int is_concurrent = 0;
  return _driver->cuPointerGetAttribute(&is_managed, is_managed_attribute, device_address(address)) == 0 &&
         is_managed != 0 &&
         _driver->cuDeviceGetAttribute(&is_concurrent, concurrent_managed_access_attribute, _device_id) == 0 &&
         is_concurrent != 0;
}

void DeviceMemory::trim() noexcept {
  run_deferred();
  _staging_pool.trim();
  if (_pool && !memarray::trim(_pool)) clear_last_error();
}

void DeviceMemory::drop_caches() noexcept {
  trim();
  StreamHandle internal_stream;
  std::vector<EventHandle> events;
  auto const locked = guard();
  _is_over = true;
  internal_stream.swap(_internal_stream);
  events.swap(_events);
}

void drop_device_memory(DriverTable const* driver) noexcept {
  for (;;) {
    DeviceMemoryPtr memory;
    {
      auto const locked = guard_registry();
      auto const found = std::find_if(registry.all.known.begin(), registry.all.known.end(),
                                      [&](Known const& known) { return known.driver == driver; });
      if (found == registry.all.known.end()) return;
      memory = std::move(found->memory);
      registry.all.known.erase(found);
    }
    memory->drop_caches();
  }
}

}  // namespace memarray::detail
