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
  std::size_t memory = std::size_t{256} << 20;  ///< bytes of each
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
  std::int64_t pools = 0;  ///< without the devices' default pools
  std::int64_t device_memory = 0;
  std::int64_t managed_memory = 0;
  std::int64_t pinned_memory = 0;

  [[nodiscard]] std::int64_t total() const noexcept {
    return contexts + streams + events + pools + device_memory + managed_memory + pinned_memory;
  }
  friend bool operator==(LiveResources const&, LiveResources const&) = default;
};

/// A block of devices emulated on the host. While it is open, `driver()` is the simulated driver. Blocks may be nested.
/// Handles created inside, and the counters, stay valid after the end.
///
/// Each stream is a thread and orders only what real streams order. Host access to device memory outside a simulated
/// copy or kernel is a violation, printed with its address and allocation site. It ends the process, unless
/// `continue_after_touch` then opens the device's memory to the host.
///
/// Asynchronous copies have finished with pageable memory when their call returns, as with most drivers. With
/// `late_copies` they run later, in stream order, as CUDA allows: changing or freeing the memory meanwhile corrupts
/// data.
///
/// A kernel that throws is a violation with the exception's text. As on a real device, all functions in its context
/// except releases then return 719 (CUDA_ERROR_LAUNCH_FAILED). Arrays misaligned for their C++ type stop a kernel with
/// 716 (CUDA_ERROR_MISALIGNED_ADDRESS); pointers that a kernel computes are not checked.
class MEMARRAY_API SimulatedDevices {
 public:
  /// Throws `ValueError` for no devices or under 512 bytes each, `std::system_error` if memory is refused or 256
  /// devices exist.
  explicit SimulatedDevices(SimulatedOptions const& options = {});
  ~SimulatedDevices();
  SimulatedDevices(SimulatedDevices const&) = delete;
  SimulatedDevices& operator=(SimulatedDevices const&) = delete;

  /// Ends the block, as the destructor does: waits for all work and restores the previous driver. Other members stay
  /// usable. Has no effect in a forked child.
  void end() noexcept;

  /// Makes `times` calls of a driver function (name without suffix), from the `nth` from now on, return `code` without
  /// effect. Throws `ValueError` for an unknown name, code 0 or an invalid count.
  void fail(std::string_view function, int nth = 1, int code = 2, int times = always);
  /// Drops calls: they return success without effect. Throws `ValueError` like `fail`, and for functions that return a
  /// result to their caller.
  void drop(std::string_view function, int nth = 1, int times = 1);
  /// Makes each copy, fill, kernel and host function take `each` longer. Throws `ValueError` for a negative delay.
  void delay(std::chrono::nanoseconds each);
  /// Ends the effects of `fail`, `drop` and `delay`.
  void clear();

  /// Returns the number of calls of a function, or of all, including failed and dropped ones. Throws `ValueError` for
  /// an unknown name.
  [[nodiscard]] std::uint64_t calls(std::string_view function = {}) const;
  /// Returns the number of live resources, after deferred releases.
  [[nodiscard]] LiveResources live() const;
  /// Returns a text for each live resource, with its allocation site.
  [[nodiscard]] std::vector<std::string> live_resources() const;
  /// Returns a text for each violation, in order: use of destroyed resources, resources destroyed before their
  /// dependents, memory freed while in use, host access to device memory, failed kernels.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Returns a text for each wait so far, even if dropped: "cuStreamWaitEvent: <site in the library>",
  /// cuEventSynchronize, cuStreamSynchronize or cuCtxSynchronize. `drop(function, n)` at the start drops a function's
  /// n-th wait.
  [[nodiscard]] std::vector<std::string> waits() const;
  [[nodiscard]] DriverTable const* table() const noexcept;

  static constexpr int always = -1;

 private:
  std::shared_ptr<simulated::Session> _session;
};

namespace detail {

/// Returns the address through which simulated kernels and copies access `pointer`; `pointer` itself for other memory.
/// A kernel's use of memory without access is a violation.
[[nodiscard]] MEMARRAY_API void* reachable(void const* pointer) noexcept;
/// Fails the running simulated kernel, if any, unless `pointer` is a multiple of `alignment` bytes, as a GPU does.
MEMARRAY_API void check_load(void const* pointer, std::size_t alignment);
/// True if a block of simulated devices is open. Loads no driver.
[[nodiscard]] MEMARRAY_API bool are_simulated() noexcept;
/// Names the site of the thread's next allocations, for reports; null: none. `site` is copied.
MEMARRAY_API void set_allocation_site(char const* site) noexcept;

/// A scope that names the owner of the thread's allocations, for reports.
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
