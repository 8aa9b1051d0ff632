#include <memarray/base/cuda_code.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/base/fork.hpp>
#include <memarray/driver/driver_table.hpp>

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace memarray {
namespace {

// The type of `cuGetProcAddress_v2`.
using GetProcAddress = int (*)(char const* symbol, void** function, int version, std::uint64_t flags, void* status);

struct Machine {
  DriverTable table;
  DriverAbsence absence{0, ""};
  std::string words;  // storage of `absence.why`
};

DriverAbsence resolve(Machine& machine) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return {cuda_code::no_device, "no CUDA driver (libcuda.so.1) is installed"};
  auto const get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!get)
    return {cuda_code::not_found, "the CUDA driver is older than 12.0 (it has no cuGetProcAddress_v2): update it"};
  auto const lacks = [&](char const* name, int version) {
    machine.words = "the CUDA driver lacks " + std::string(name) + " of CUDA " + std::to_string(version / 1000) + "." +
                    std::to_string(version % 1000 / 10) + ": update it";
    return DriverAbsence{cuda_code::not_found, machine.words.c_str()};
  };
#define MEMARRAY_RESOLVE_DRIVER_FUNCTION(name, version, parameters)                 \
  if (void* found = nullptr; get(#name, &found, version, 0, nullptr) == 0 && found) \
    machine.table.name = reinterpret_cast<decltype(machine.table.name)>(found);     \
  else                                                                              \
    return lacks(#name, version);
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_RESOLVE_DRIVER_FUNCTION)
#undef MEMARRAY_RESOLVE_DRIVER_FUNCTION
  int devices = 0;
  cu::Result const failed = machine.table.cuInit(0);
  if (failed == cuda_code::no_device || (failed == 0 && machine.table.cuDeviceGetCount(&devices) == 0 && devices == 0))
    return {cuda_code::no_device, "the CUDA driver finds no device (CUDA_VISIBLE_DEVICES may hide them)"};
  if (failed != 0) {
    char const* name = nullptr;
    if (machine.table.cuGetErrorName(failed, &name) != 0 || !name) name = "an unknown error";
    machine.words = "the CUDA driver does not start: cuInit returned " + std::string(name);
    return {failed, machine.words.c_str()};
  }
  return {0, ""};
}

std::atomic<Machine const*> machine{nullptr};
std::atomic<DriverTable const*> replacement{nullptr};
std::atomic<detail::DriverHooks const*> hooks_above{nullptr};

// No initialisation guard, which a fork could leave locked. Concurrent first calls each resolve; one table is kept.
Machine const& this_machine() noexcept {
  Machine const* known = machine.load(std::memory_order_acquire);
  if (known) return *known;
  RuntimeRelease const released;
  auto* const fresh = new Machine;
  fresh->table.fork_generation = detail::fork_generation();
  fresh->absence = resolve(*fresh);
  if (machine.compare_exchange_strong(known, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
    return *fresh;
  delete fresh;
  return *known;
}

bool is_of_this_process(DriverTable const& table) noexcept {
  return table.fork_generation == detail::fork_generation();
}

}  // namespace

DriverTable const* driver() noexcept {
  if (DriverTable const* const simulated = replacement.load(std::memory_order_acquire))
    return is_of_this_process(*simulated) ? simulated : nullptr;
  Machine const& known = this_machine();
  return known.absence.code == 0 && is_of_this_process(known.table) ? &known.table : nullptr;
}

DriverAbsence driver_absence() noexcept {
  if (driver()) return {0, ""};
  DriverTable const* const simulated = replacement.load(std::memory_order_acquire);
  if (!simulated && this_machine().absence.code != 0) return this_machine().absence;
  return {cuda_code::not_initialized,
          "this process was forked from one that had begun to use the CUDA driver, which cannot be used here: start "
          "processes with 'spawn', or fork before the first use of a device"};
}

int device_count() noexcept {
  DriverTable const* const table = driver();
  int count = 0;
  return table && table->cuDeviceGetCount(&count) == 0 ? count : 0;
}

namespace detail {

DriverTable const* replace_driver(DriverTable const* table) noexcept {
  return replacement.exchange(table, std::memory_order_acq_rel);
}

DriverTable const* replacing_driver() noexcept { return replacement.load(std::memory_order_acquire); }

void set_driver_hooks(DriverHooks const* hooks) noexcept { hooks_above.store(hooks, std::memory_order_release); }

DriverHooks const* driver_hooks() noexcept { return hooks_above.load(std::memory_order_acquire); }

}  // namespace detail
}  // namespace memarray
