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

/// What the simulated devices are like.
struct SimulatedOptions {
  int count = 2;                                ///< how many devices
  std::size_t memory = std::size_t{256} << 20;  ///< bytes of each
  bool peer_access = true;                      ///< whether they reach each other's memory
  bool pools = true;                            ///< whether they have stream-ordered pools
  bool lend_as_cuda = false;                    ///< lent over DLPack as CUDA instead of as an extension device
  bool continue_after_touch = false;            ///< a host touch of device memory does not end the process
  bool late_copies = false;                     ///< pageable memory is copied when the stream comes to it
};

/// How many resources of each kind there are.
struct LiveResources {
  std::int64_t contexts = 0;  ///< retained or created
  std::int64_t streams = 0;
  std::int64_t events = 0;
  std::int64_t pools = 0;  ///< created; a device's own pool is no one's
  std::int64_t device_memory = 0;
  std::int64_t managed_memory = 0;
  std::int64_t pinned_memory = 0;

  [[nodiscard]] std::int64_t total() const noexcept {
    return contexts + streams + events + pools + device_memory + managed_memory + pinned_memory;
  }
  friend bool operator==(LiveResources const&, LiveResources const&) = default;
};

/// Devices that are emulated on the host, while the object lives: `driver()` is theirs. Blocks may be nested; handles
/// made inside stay good after the end, and so do the counters.
///
/// Each stream is a thread, so that work nobody waited for is really concurrent; a queue orders what a real stream
/// orders and nothing else. Device memory faults when the host touches it outside a simulated copy or kernel: the
/// touch is a violation, printed with its address and the allocation's site when it happens, and ends the process as
/// any fault does, unless `continue_after_touch` opens the device's memory to the host from then on.
///
/// An asynchronous copy from or to pageable memory may be over when its call returns, as drivers mostly do it, or
/// happen when the stream comes to it, as CUDA's documents allow. The first is the default. With `late_copies` it is
/// the second, some time after all work before: memory that a program changes or frees meanwhile goes wrong.
///
/// A kernel that throws is a violation with the exception's words. As after a failure on a real device, its context
/// then answers 719 (CUDA_ERROR_LAUNCH_FAILED) to all but what gives back, until it ends. So does 716
/// (CUDA_ERROR_MISALIGNED_ADDRESS) after a kernel over elements that are not aligned as their C++ type asks; it does
/// not run. Checked are the arrays that a launch names, not pointers that a kernel makes itself.
class MEMARRAY_API SimulatedDevices {
 public:
  /// Throws `ValueError` (no device, no memory), `std::system_error` (the system refuses memory or threads).
  explicit SimulatedDevices(SimulatedOptions const& options = {});
  /// Ends the block.
  ~SimulatedDevices();
  SimulatedDevices(SimulatedDevices const&) = delete;
  SimulatedDevices& operator=(SimulatedDevices const&) = delete;

  /// Ends the block, if nobody has: waits for all work, then gives the driver before it back. Everything else here can
  /// still be asked. Nothing happens in a forked child.
  void end() noexcept;

  /// The `nth` call from now of a driver function (by its name without suffix), and each later one (or `times` of
  /// them), does nothing and returns `code`. Throws `ValueError` for an unknown name, as do the others.
  void fail(std::string_view function, int nth = 1, int code = 2, int times = always);
  /// The `nth` call from now, and `times` in all, does nothing and returns success. Throws `ValueError` for functions
  /// that have something to give to their caller.
  void drop(std::string_view function, int nth = 1, int times = 1);
  /// Each piece of work on a stream takes that much longer.
  void delay(std::chrono::nanoseconds each);
  /// Ends what `fail`, `drop` and `delay` began.
  void clear();

  /// How often a function was called, failed and dropped calls included; with no name, all functions together.
  [[nodiscard]] std::uint64_t calls(std::string_view function = {}) const;
  [[nodiscard]] LiveResources live() const;
  /// Each of them in words, with where it was made (`set_allocation_site`).
  [[nodiscard]] std::vector<std::string> live_resources() const;
  /// What no program may do, in words, in the order in which it happened: calls on destroyed resources, resources
  /// destroyed before what depends on them, memory freed while work used it, host touches of device memory, exceptions
  /// out of kernels, arrays of a kernel whose elements are not aligned as a GPU asks.
  [[nodiscard]] std::vector<std::string> violations() const;
  /// Each wait for work so far, dropped ones included, in the order of the calls: "cuStreamWaitEvent: <where in the
  /// library>", and the blocking ones (cuEventSynchronize, cuStreamSynchronize, cuCtxSynchronize) likewise. The n-th
  /// that begins with a function's name is the one that `drop(function, n)` would have lost from the start.
  [[nodiscard]] std::vector<std::string> waits() const;
  [[nodiscard]] DriverTable const* table() const noexcept;

  static constexpr int always = -1;

 private:
  std::shared_ptr<simulated::Session> _session;
};

namespace detail {

/// Where a kernel or a copy that runs in a simulated stream finds the memory that programs see at `pointer`; `pointer`
/// itself if it is no simulated device memory.
[[nodiscard]] MEMARRAY_API void* reachable(void const* pointer) noexcept;
/// Fails the kernel that the calling thread runs for a simulated device if a GPU would refuse to load or store at
/// `pointer` what is aligned to `alignment` bytes: a violation, and CUDA_ERROR_MISALIGNED_ADDRESS in its context. Does
/// nothing elsewhere.
MEMARRAY_API void check_load(void const* pointer, std::size_t alignment);
/// Whether a block of simulated devices is open, without asking for any driver.
[[nodiscard]] MEMARRAY_API bool are_simulated() noexcept;
/// Words for where the calling thread's next allocations are made, for reports; null: none. It is copied.
MEMARRAY_API void set_allocation_site(char const* site) noexcept;

/// While it lives, memory that the calling thread takes is shown as that of `owner`.
class MEMARRAY_API AllocationOwner {
 public:
  explicit AllocationOwner(std::string_view owner) noexcept;
  ~AllocationOwner();
  AllocationOwner(AllocationOwner const&) = delete;
  AllocationOwner& operator=(AllocationOwner const&) = delete;

 private:
  std::size_t _length;
};

/// While it lives, waits of the calling thread are made in this place of the library. Literals only.
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
