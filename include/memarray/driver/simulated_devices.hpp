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

/// The options of simulated devices.
struct SimulatedOptions {
  int count = 2;                                ///< number of devices
  std::size_t memory = std::size_t{256} << 20;  ///< bytes of each
  bool peer_access = true;                      ///< devices can access each other's memory
  bool pools = true;                            ///< devices have stream-ordered pools
  bool lend_as_cuda = false;                    ///< exported over DLPack as `kDLCUDA`, not `kDLExtDev`
  bool continue_after_touch = false;            ///< a host touch of device memory does not end the process
  bool late_copies = false;                     ///< pageable memory is copied when the stream reaches the copy
};

/// The number of live resources of each kind.
struct LiveResources {
  std::int64_t contexts = 0;  ///< references to contexts, retained or created
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t pools = 0;  ///< created pools; the default pool of a device does not count
  std::int64_t device_memory = 0;
  std::int64_t managed_memory = 0;
  std::int64_t pinned_memory = 0;

  [[nodiscard]] std::int64_t total() const noexcept {
    return contexts + streams + events + pools + device_memory + managed_memory + pinned_memory;
  }
  friend bool operator==(LiveResources const&, LiveResources const&) = default;
};

/// A block of devices that are emulated on the host. While it is open, `driver()` is the simulated driver. Blocks may
/// be nested. Handles created inside, and the counters, stay valid after the end.
///
/// Each stream is a thread, so that work without a wait is really concurrent: streams order only what real streams
/// order. Device memory faults when the host touches it outside a simulated copy or kernel. The touch is a violation,
/// printed at once with its address and the allocation's site. It ends the process as any fault does, unless
/// `continue_after_touch` opens the device's memory to the host from then on.
///
/// By default, an asynchronous copy has finished with pageable memory when its call returns, as drivers usually do it.
/// With `late_copies` it runs when the stream reaches it, as CUDA's documentation allows, some time after all earlier
/// work. Memory that a program changes or frees meanwhile is then corrupted.
///
/// A kernel that throws is a violation with the exception's text. As on a real device, its context then returns 719
/// (CUDA_ERROR_LAUNCH_FAILED) from all functions except releases, until the context ends. A kernel over elements that
/// are not aligned as their C++ type requires does not run, and its context then returns 716
/// (CUDA_ERROR_MISALIGNED_ADDRESS). Only the arrays of a launch are checked, not pointers that a kernel computes.
class MEMARRAY_API SimulatedDevices {
 public:
  /// Opens the block. Throws `ValueError` for no devices or too little memory, and `std::system_error` if the system
  /// refuses memory or threads.
  explicit SimulatedDevices(SimulatedOptions const& options = {});
  /// Ends the block.
  ~SimulatedDevices();
  SimulatedDevices(SimulatedDevices const&) = delete;
  SimulatedDevices& operator=(SimulatedDevices const&) = delete;

  /// Ends the block, if it is open: waits for all work, then restores the previous driver. All other members stay
  /// usable. Has no effect in a forked child.
  void end() noexcept;

  /// Makes `times` calls of a driver function fail (by default all), from the `nth` call from now on. They do nothing
  /// and return `code`. `function` is a name without suffix. Throws `ValueError` for an unknown name, a `code` of 0 or
  /// an invalid count.
  void fail(std::string_view function, int nth = 1, int code = 2, int times = always);
  /// Makes `times` calls of a driver function, from the `nth` call from now on, do nothing and return success. Throws
  /// `ValueError` as `fail` does, and for functions that return a result to their caller.
  void drop(std::string_view function, int nth = 1, int times = 1);
  /// Makes each piece of work on a stream take `each` longer. Throws `ValueError` for a negative delay.
  void delay(std::chrono::nanoseconds each);
  /// Ends the effects of `fail`, `drop` and `delay`.
  void clear();

  /// Returns the number of calls of a function, or of all functions if no name is given. Failed and dropped calls
  /// count. Throws `ValueError` for an unknown name.
  [[nodiscard]] std::uint64_t calls(std::string_view function = {}) const;
  /// Returns the number of live resources, after deferred releases.
  [[nodiscard]] LiveResources live() const;
  /// Returns a text for each live resource, with its allocation site (`set_allocation_site`).
  [[nodiscard]] std::vector<std::string> live_resources() const;
  /// Returns a text for each violation, in order of occurrence: calls on destroyed resources, resources destroyed
  /// before their dependents, memory freed while in use, host touches of device memory; in kernels, exceptions and
  /// arrays that are not aligned as a GPU requires.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Returns a text for each wait for work so far, in the order of the calls and including dropped waits:
  /// "cuStreamWaitEvent: <site in the library>". Blocking waits (cuEventSynchronize, cuStreamSynchronize,
  /// cuCtxSynchronize) are included. The n-th text of a function is the wait that `drop(function, n)`, called at the
  /// start, would have dropped.
  [[nodiscard]] std::vector<std::string> waits() const;
  [[nodiscard]] DriverTable const* table() const noexcept;

  static constexpr int always = -1;

 private:
  std::shared_ptr<simulated::Session> _session;
};

namespace detail {

/// Returns the address through which a kernel or copy in a simulated stream accesses the memory at `pointer`. Returns
/// `pointer` itself if it is not simulated device memory.
[[nodiscard]] MEMARRAY_API void* reachable(void const* pointer) noexcept;
/// Fails the simulated kernel on the calling thread if `pointer` is not a multiple of `alignment` bytes, as a GPU
/// refuses such loads and stores. The failure is a violation, and CUDA_ERROR_MISALIGNED_ADDRESS in the kernel's
/// context. Does nothing outside a simulated kernel.
MEMARRAY_API void check_load(void const* pointer, std::size_t alignment);
/// True if a block of simulated devices is open. Loads no driver.
[[nodiscard]] MEMARRAY_API bool are_simulated() noexcept;
/// Names the site of the calling thread's next allocations, for reports. Null: no site. `site` is copied.
MEMARRAY_API void set_allocation_site(char const* site) noexcept;

/// A scope in which reports show `owner` as the owner of the calling thread's allocations.
class MEMARRAY_API AllocationOwner {
 public:
  explicit AllocationOwner(std::string_view owner) noexcept;
  ~AllocationOwner();
  AllocationOwner(AllocationOwner const&) = delete;
  AllocationOwner& operator=(AllocationOwner const&) = delete;

 private:
  std::size_t _length;
};

/// A scope that names the site in the library of the calling thread's waits. `words` must be a string literal.
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
