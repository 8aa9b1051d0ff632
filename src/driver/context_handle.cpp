#include <memarray/base/hooks.hpp>
#include <memarray/detail/base/fork_lock.hpp>
#include <memarray/driver/context_handle.hpp>
#include <memarray/driver/last_error.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include "box.hpp"

namespace memarray {
namespace {

using detail::Box;
using detail::box_of;
using detail::driver_or_error;
using detail::make_handle;
using detail::record_error;
using detail::succeeded;

struct ContextBox : Box<cu::Context> {
  explicit ContextBox(DriverTable const* table) noexcept : Box(table) {}
  ~ContextBox() {
    DriverTable const* const table = to_destroy();
    if (!table) return;
    RuntimeRelease const released;
    if (primary)
      release_primary(*table);
    else
      static_cast<void>(table->cuCtxDestroy(resource));
  }

  void release_primary(DriverTable const& table) const noexcept {
    // A device number is ambiguous among simulated blocks; the current context names one.
    bool const pushed = table.is_simulated() && table.cuCtxPushCurrent(resource) == 0;
    static_cast<void>(table.cuDevicePrimaryCtxRelease(device_id));
    cu::Context popped = nullptr;
    if (pushed) static_cast<void>(table.cuCtxPopCurrent(&popped));
  }

  int device_id = 0;
  bool primary = false;
};

// Handles share one retention. Real contexts stay until the process ends: recreation is slow, and other libraries may
// borrow them.
class PrimaryContexts {
 public:
  ContextHandle find(DriverTable const* table, int device_id) noexcept {
    auto const locked = guard();
    for (Entry const& entry : _entries)
      if (entry.table == table && entry.device_id == device_id) return entry.context.lock();
    return nullptr;
  }

  [[nodiscard]] bool empty() noexcept {
    auto const locked = guard();
    return _entries.empty();
  }

  [[nodiscard]] int highest(DriverTable const* table) noexcept {
    auto const locked = guard();
    int highest = -1;
    for (Entry const& entry : _entries)
      if (entry.table == table && !entry.context.expired()) highest = std::max(highest, entry.device_id);
    return highest;
  }

  void remember(DriverTable const* table, int device_id, ContextHandle const& context) noexcept {
    auto const locked = guard();
    std::erase_if(_entries, [](Entry const& entry) { return entry.context.expired(); });
    // The entry of a faster thread stays: dropping its handle needs locks that come before this one.
    if (std::ranges::any_of(_entries,
                            [&](Entry const& entry) { return entry.table == table && entry.device_id == device_id; }))
      return;
    try {
      _entries.push_back({table, device_id, context, table->is_simulated() ? nullptr : context});
    } catch (std::bad_alloc const&) {
      // The next caller retains it again.
    }
  }

 private:
  struct Entry {
    DriverTable const* table;
    int device_id;
    std::weak_ptr<cu::Context const> context;
    ContextHandle kept;
  };
  [[nodiscard]] detail::ForkLockGuard guard() noexcept {
    return {_lock, [this] { detail::abandon(_entries); }};
  }

  detail::ForkLock _lock;
  std::vector<Entry> _entries;
};

// Never destroyed: handles are dropped at exit. No initialisation guard, which a fork could leave locked.
union Immortal {
  constexpr Immortal() noexcept : contexts() {}
  ~Immortal() {}
  PrimaryContexts contexts;
};

constinit Immortal immortal;

PrimaryContexts& primary_contexts() noexcept { return immortal.contexts; }

cu::Result read_device(DriverTable const& table, cu::Context context, int& device_id) noexcept {
  if (cu::Result const failed = table.cuCtxPushCurrent(context); failed != 0) return failed;
  cu::Result const result = table.cuCtxGetDevice(&device_id);
  cu::Context popped = nullptr;
  cu::Result const restored = table.cuCtxPopCurrent(&popped);
  return result != 0 ? result : restored;
}

}  // namespace

ContextHandle get_primary_context(int device_id) noexcept {
  DriverTable const* const table = driver_or_error();
  if (!table) return nullptr;
  if (ContextHandle known = primary_contexts().find(table, device_id)) return known;
  ContextHandle context = make_handle<ContextBox>(
      [&](ContextBox& box) {
        RuntimeRelease const released;
        box.primary = true;
        cu::Result result = table->cuDeviceGet(&box.device_id, device_id);
        if (result == 0) result = table->cuDevicePrimaryCtxRetain(&box.resource, box.device_id);
        box.owned = result == 0;
        return result;
      },
      table);
  if (context) primary_contexts().remember(table, device_id, context);
  return context;
}

ContextHandle get_current_context() noexcept {
  DriverTable const* const table = driver_or_error();
  if (!table) return nullptr;
  cu::Context current = nullptr;
  if (!succeeded(table->cuCtxGetCurrent(&current)) || !succeeded(current ? 0 : cuda_code::invalid_context))
    return nullptr;
  return create_context_handle_ref(current);
}

ContextHandle create_context_handle(int device_id, unsigned flags) noexcept {
  DriverTable const* const table = driver_or_error();
  if (!table) return nullptr;
  return make_handle<ContextBox>(
      [&](ContextBox& box) {
        RuntimeRelease const released;
        cu::Result result = table->cuDeviceGet(&box.device_id, device_id);
        if (result == 0) result = table->cuCtxCreate(&box.resource, flags, box.device_id);
        if (result != 0) return result;
        box.owned = true;
        cu::Context popped = nullptr;  // creation makes it current
        return table->cuCtxPopCurrent(&popped);
      },
      table);
}

ContextHandle create_context_handle_ref(cu::Context context) noexcept {
  return create_context_handle_with_owner(context, nullptr);
}

ContextHandle create_context_handle_with_owner(cu::Context context, KeepAlive owner) noexcept {
  DriverTable const* const table = driver_or_error();
  if (!table) return nullptr;
  return make_handle<ContextBox>(
      [&](ContextBox& box) {
        if (!context) return cuda_code::invalid_context;
        box.resource = context;
        box.owner = std::move(owner);
        return read_device(*table, context, box.device_id);
      },
      table);
}

int device_id_of(ContextHandle const& context) noexcept {
  if (!context) {
    detail::fail_for_null(cuda_code::invalid_context);
    return -1;
  }
  return box_of<ContextBox>(context).device_id;
}

DriverTable const* driver_of(ContextHandle const& context) noexcept {
  if (!context) return nullptr;
  return box_of<ContextBox>(context).of_this_process();
}

namespace detail {

constinit ContextHandle const no_context;

bool keeps_context(ContextHandle const& context) noexcept {
  if (!context) return false;
  ContextBox const& box = box_of<ContextBox>(context);
  return box.owned || box.owner;
}

ContextHandle held_primary_context(int device_id) noexcept {
  DriverTable const* const table = driver();
  return table ? primary_contexts().find(table, device_id) : nullptr;
}

int last_held_device() noexcept {
  // Loads no driver if no device was used.
  if (primary_contexts().empty()) return -1;
  DriverTable const* const table = driver();
  return table ? primary_contexts().highest(table) : -1;
}

ContextScope::ContextScope(ContextHandle const& context) noexcept : _driver(driver_of(context)) {
  if (!_driver) {
    if (context)
      record_error(cuda_code::not_initialized);
    else
      fail_for_null(cuda_code::invalid_context);
    return;
  }
  cu::Context current = nullptr;
  if (_driver->cuCtxGetCurrent(&current) == 0 && current == *context) return;
  _pushed = succeeded(_driver->cuCtxPushCurrent(*context));
  if (!_pushed) _driver = nullptr;
}

ContextScope::~ContextScope() {
  cu::Context popped = nullptr;
  if (_pushed) static_cast<void>(_driver->cuCtxPopCurrent(&popped));
}

}  // namespace detail

EnteredContext::EnteredContext(ContextHandle const& context, char const* what) : _scope(context) {
  if (!_scope.driver()) throw_last_error(what);
}

}  // namespace memarray
