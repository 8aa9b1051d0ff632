#include <memarray/resource/driver_table.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

#include <memarray/base/fork.hpp>

namespace memarray {
namespace {

// The entry that knows which of a function's forms belongs to which version.
using GetProcAddress = int (*)(char const* symbol, void** function, int version, std::uint64_t flags, void* status);

struct Driver {
  DriverTable table;
  std::uint32_t generation;
  bool usable;
};

bool resolve(DriverTable& table) noexcept {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return false;
  }
  auto const get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    return false;
  }
#define MEMARRAY_RESOLVE_DRIVER_FUNCTION(name, version, parameters)                              \
  if (void* found = nullptr; get(#name, &found, version, 0, nullptr) == 0 && found != nullptr) { \
    table.name = reinterpret_cast<decltype(table.name)>(found);                                  \
  } else {                                                                                       \
    return false;                                                                                \
  }
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_RESOLVE_DRIVER_FUNCTION)
#undef MEMARRAY_RESOLVE_DRIVER_FUNCTION
  return table.cuInit(0) == 0;
}

std::atomic<Driver const*> current{nullptr};

}  // namespace

// Without a guard that a fork could leave held. Threads that come first together each resolve, and one's table is kept.
DriverTable const* driver() noexcept {
  Driver const* known = current.load(std::memory_order_acquire);
  if (known == nullptr) {
    auto* const fresh = new Driver{{}, fork_generation(), false};
    fresh->usable = resolve(fresh->table);
    if (current.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) {
      known = fresh;
    } else {
      delete fresh;
    }
  }
  return known->usable && known->generation == fork_generation() ? &known->table : nullptr;
}

int device_count() noexcept {
  DriverTable const* const table = driver();
  int count = 0;
  return table != nullptr && table->cuDeviceGetCount(&count) == 0 ? count : 0;
}

}  // namespace memarray
