#include "entries.hpp"

#include <memarray/detail/base/fork.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <system_error>
#include <type_traits>

#include "emulate_contexts.hpp"
#include "emulate_copies.hpp"
#include "emulate_devices.hpp"
#include "emulate_error_names.hpp"
#include "emulate_events.hpp"
#include "emulate_memory.hpp"
#include "emulate_pools.hpp"
#include "emulate_streams.hpp"
#include "injection.hpp"
#include "session.hpp"
#include "session_registry.hpp"

namespace memarray::simulated {
namespace {

// A call's session: of its first simulated handle, else of its first simulated memory, else of the thread.
struct Owner {
  std::shared_ptr<Session> session;
  bool is_gone = false;  // the session has ended, or is a parent process's

  template <typename Handle>
  void look_at_handle(Handle handle) {
    if constexpr (kind_of<Handle> != 0) {
      auto const parts = session || is_gone ? std::nullopt : decode(handle);
      if (!parts) return;
      session = find_session(parts->session);
      is_gone = !session;
    }
  }
  template <typename Argument>
  void look_at_memory(Argument argument) {
    if (session || is_gone) return;
    if constexpr (std::is_same_v<Argument, cu::DevicePtr>) {
      session = find_session_of_memory(static_cast<std::uintptr_t>(argument));
    } else if constexpr (std::is_same_v<Argument, void*>) {
      session = find_session_of_memory(reinterpret_cast<std::uintptr_t>(argument));
    }
  }
};

template <typename... Arguments>
Owner owner(Arguments... arguments) {
  Owner found;
  (found.look_at_handle(arguments), ...);
  (found.look_at_memory(arguments), ...);
  if (!found.session && !found.is_gone) found.session = find_session_here();
  return found;
}

// True for functions that work without a session and in kernels.
constexpr bool only_names_errors(std::size_t index) {
  return index == function::cuGetErrorName || index == function::cuGetErrorString;
}

// True if `SimulatedDevices::waits` lists the function.
constexpr bool waits(std::size_t index) {
  return index == function::cuStreamWaitEvent || index == function::cuEventSynchronize ||
         index == function::cuStreamSynchronize || index == function::cuCtxSynchronize;
}

template <std::size_t index, auto emulation>
struct Entry;

template <std::size_t index, typename... Arguments, cu::Result (*emulation)(Session&, Arguments...)>
struct Entry<index, emulation> {
  static cu::Result call(Arguments... arguments) {
    Hidden const hidden;
    if (is_bare_child()) return cuda_code::not_initialized;
    try {
      // `find_session_here` would drop an ended session's context, and the emulation pop the next one.
      if constexpr (index == function::cuCtxPopCurrent)
        if (ContextStack::drop_dead()) return cuda_code::success;
      // `cuStreamGetCtx` refuses streams of other sessions than the thread's.
      Owner const found = index == function::cuStreamGetCtx ? Owner{find_session_here()} : owner(arguments...);
      if (found.is_gone) return detail::fork_generation() == 0 ? cuda_code::invalid_handle : cuda_code::not_initialized;
      if (!found.session) {
        if constexpr (index == function::cuGetErrorName) return name_error(arguments...);
        if constexpr (index == function::cuGetErrorString) return describe_error(arguments...);
        return cuda_code::not_initialized;
      }
      return call(*found.session, arguments...);
    } catch (std::bad_alloc const&) {
    } catch (std::system_error const&) {
    }
    return cuda_code::out_of_memory;
  }

  static cu::Result call(Session& session, Arguments... arguments) {
    if constexpr (waits(index)) session.note_wait(index);
    if (auto const injected = session.injection.begin(index)) return *injected;
    if constexpr (!only_names_errors(index)) {
      if (ProgramCode::runs()) {
        session.violation(words(function_name(index), " called by a host function or kernel of a stream"));
        return cuda_code::not_permitted;
      }
    }
    cu::Result const result = emulation(session, arguments...);
    session.retire();
    return result;
  }

  // True if a parameter is an output. A `void*` counts as memory.
  static constexpr bool gives_something =
      ((std::is_pointer_v<Arguments> && !std::is_const_v<std::remove_pointer_t<Arguments>> &&
        (std::is_arithmetic_v<std::remove_pointer_t<Arguments>> ||
         std::is_pointer_v<std::remove_pointer_t<Arguments>>)) ||
       ...);
};

#define MEMARRAY_SIMULATED_ENTRY(name) Entry<function::name, &emulated::name>

// A list that keeps all tables reachable for leak checkers.
struct Kept {
  DriverTable table;
  Kept* before = nullptr;
};
constinit std::atomic<Kept*> kept{nullptr};

}  // namespace

DriverTable const* make_table(bool exports_as_cuda) {
  auto* const fresh = new Kept;
  fresh->table.exports_as_cuda = exports_as_cuda;
#define MEMARRAY_FILL_TABLE(name, version, parameters) fresh->table.name = MEMARRAY_SIMULATED_ENTRY(name)::call;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_FILL_TABLE)
#undef MEMARRAY_FILL_TABLE
  fresh->table.launch_simulated = Entry<launch_function, &emulated::launch>::call;
  fresh->table.fork_generation = detail::fork_generation();
  fresh->before = kept.load(std::memory_order_relaxed);
  while (!kept.compare_exchange_weak(fresh->before, fresh)) {
  }
  return &fresh->table;
}

bool can_be_dropped(std::size_t function) noexcept {
#define MEMARRAY_GIVES_NOTHING(name, version, parameters) !MEMARRAY_SIMULATED_ENTRY(name)::gives_something,
  static constexpr std::array<bool, function_count> all{MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_GIVES_NOTHING)};
#undef MEMARRAY_GIVES_NOTHING
  // A dropped launch would leak its arguments, which the kernel releases.
  if (function == launch_function) return false;
  // These return results through a `void*`.
  return all[function] && function != function::cuPointerGetAttribute && function != function::cuMemPoolGetAttribute;
}

}  // namespace memarray::simulated
