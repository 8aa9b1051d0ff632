#pragma once

#include <memarray/base/config.hpp>
#include <memarray/driver/driver_table.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace memarray::simulated {
class Session;
}

namespace memarray::testing {

struct SimulatedOptions {
  int count = 2;                                ///< devices
  std::size_t memory = std::size_t{256} << 20;  ///< bytes per device
  bool peer_access = true;                      ///< devices can access each other's memory
  bool pools = true;                            ///< stream-ordered pools
  bool lend_as_cuda = false;                    ///< exported over DLPack as `kDLCUDA`, not `kDLExtDev`
  bool continue_after_touch = false;            ///< a host access does not end the process
  bool late_copies = false;                     ///< pageable memory is copied in stream order
};

/// Live resources by kind.
struct LiveResources {
  std::int64_t contexts = 0;  ///< references, retained or created
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t pools = 0;  ///< without default pools
  std::int64_t device_memory = 0;
  std::int64_t managed_memory = 0;
  std::int64_t pinned_memory = 0;

  [[nodiscard]] std::int64_t total() const noexcept {
    return contexts + streams + events + pools + device_memory + managed_memory + pinned_memory;
  }
  friend bool operator==(LiveResources const&, LiveResources const&) = default;
};

/// A block of devices emulated on the host. While it is open, `driver()` is the simulated driver. Blocks nest. Handles
/// created inside and all members stay usable after the end.
///
/// Each stream is a thread, ordered only as a real stream is. Host access to device memory outside copies and kernels
/// is a violation: it is printed and ends the process or, with `continue_after_touch`, opens the memory to the host.
///
/// Asynchronous copies finish with pageable memory before they return. With `late_copies` they run in stream order, as
/// CUDA allows: changing or freeing the memory meanwhile corrupts data.
///
/// A kernel that throws is a violation. Later calls in its context, except releases and attribute reads, return 719
/// (CUDA_ERROR_LAUNCH_FAILED). Arrays misaligned for their C++ type cause 716 (CUDA_ERROR_MISALIGNED_ADDRESS); pointers
/// that a kernel computes are not checked.
class MEMARRAY_API SimulatedDevices {
 public:
  /// Throws `ValueError` (no devices, under 512 bytes each), `std::system_error` (memory refused, 256 devices exist).
  explicit SimulatedDevices(SimulatedOptions const& options = {});
  ~SimulatedDevices();
  SimulatedDevices(SimulatedDevices const&) = delete;
  SimulatedDevices& operator=(SimulatedDevices const&) = delete;

  /// Waits for all work, then restores the previous driver, as the destructor does. No effect in a forked child.
  void end() noexcept;

  /// Makes `times` calls of a driver function (name without suffix), from the `nth` from now on, return `code` without
  /// effect. Throws `ValueError` for an unknown name, code 0 or an invalid count.
  void fail(std::string_view function, int nth = 1, int code = 2, int times = always);
  /// Makes calls succeed without effect. Throws `ValueError` like `fail`, and for kernel launches and functions with
  /// output parameters.
  void drop(std::string_view function, int nth = 1, int times = 1);
  /// Prolongs each copy, fill, kernel and host function by `each`. Throws `ValueError` if negative.
  void delay(std::chrono::nanoseconds each);
  /// Ends the effects of `fail`, `drop` and `delay`.
  void clear();

  /// Counts the calls of a function, or all, failed and dropped ones included. Throws `ValueError` for an unknown name.
  [[nodiscard]] std::uint64_t calls(std::string_view function = {}) const;
  /// Counts live resources, after running deferred releases.
  [[nodiscard]] LiveResources live() const;
  /// Describes the resources that `live` counts, with allocation sites.
  [[nodiscard]] std::vector<std::string> live_resources() const;
  /// Returns one text per violation, in order: use of destroyed resources, resources destroyed before their dependents,
  /// memory freed while in use, host access to device memory, failed kernels.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Returns "<function>: <site in the library>" for each call of cuStreamWaitEvent, cuEventSynchronize,
  /// cuStreamSynchronize and cuCtxSynchronize, in order, dropped ones included.
  [[nodiscard]] std::vector<std::string> waits() const;
  [[nodiscard]] DriverTable const* table() const noexcept;

  static constexpr int always = -1;

 private:
  std::shared_ptr<simulated::Session> _session;
};

namespace detail {

/// Returns where a simulated kernel accesses `pointer`; `pointer` itself if it is no simulated device memory. Freed or
/// inaccessible memory is a violation.
[[nodiscard]] MEMARRAY_API void* reachable(void const* pointer) noexcept;
/// Fails a running simulated kernel unless `pointer` is a multiple of `alignment` bytes.
MEMARRAY_API void check_load(void const* pointer, std::size_t alignment);
/// True if a block of simulated devices is open. Loads no driver.
[[nodiscard]] MEMARRAY_API bool are_simulated() noexcept;
/// Names the site of the thread's next allocations; null: none. Copies `site`.
MEMARRAY_API void set_allocation_site(char const* site) noexcept;

/// A scope that appends an owner to the thread's allocation site.
class MEMARRAY_API AllocationOwner {
 public:
  explicit AllocationOwner(std::string_view owner) noexcept;
  ~AllocationOwner();
  AllocationOwner(AllocationOwner const&) = delete;
  AllocationOwner& operator=(AllocationOwner const&) = delete;

 private:
  std::size_t _length;
};

/// A scope that names the site of the thread's waits. `words` must be a string literal.
class MEMARRAY_API WaitSite {
 public:
  explicit WaitSite(char const* words) noexcept;
  ~WaitSite();
  WaitSite(WaitSite const&) = delete;
  WaitSite& operator=(WaitSite const&) = delete;

 private:
  char const* _before;
};

}  // namespace detail
}  // namespace memarray::testing
