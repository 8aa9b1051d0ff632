#include "c_resources.hpp"

#include "objects.hpp"
#include "open_resources.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/view/view_core.hpp>
#include <memarray/state/lease.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "with_python.hpp"

namespace memarray::detail {
namespace {

template <class Kept>
void close(void* kept) noexcept {
  delete static_cast<Kept*>(kept);
}

std::string words_for(char const* what) {
  ObjectBridge const* const python = object_bridge();
  std::string const line = python ? python->line_of_caller() : std::string();
  return line.empty() ? std::string(what) : what + (", opened at " + line);
}

/// Needs the GIL, to find the caller's line.
void trace(MemArrayResource& resource, char const* what) noexcept {
  if (!traces_resources()) return;
  try {
    trace_opened(resource, words_for(what));
  } catch (std::bad_alloc const&) {
    return;  // the resource works untraced
  }
}

/// Memory of 0 bytes gets an address, too: null means failure.
void* address(std::byte* data) noexcept {
  alignas(std::max_align_t) static std::byte nothing[1];
  return data ? data : nothing;
}

/// Traces the resource that `body` made.
template <class Body>
void* keep(char const* what, MemArrayResource* resource, Body const& body) noexcept {
  return with_python<void>([&](ObjectBridge const& python) {
    void* const result = body(python);
    if (result) trace(*resource, what);
    return result;
  });
}

template <class Kept>
void* hand_over(std::byte* data, std::unique_ptr<Kept> kept, MemArrayResource& resource) noexcept {
  resource = {close<Kept>, kept.release()};
  return address(data);
}

}  // namespace

void drop_object(void* object) noexcept {
  if (auto const drop = hooks().drop_object; drop && object) drop(object);
}

void hold_object(void* object, char const* what, MemArrayResource* resource) noexcept {
  *resource = {drop_object, object};
  trace(*resource, what);
}

void* array_as_pointer(void* object, int writable, MemArrayResource* resource) noexcept {
  char const* const what = "MemArray_AsPointerRes";
  return keep(what, resource, [&](ObjectBridge const& python) -> void* {
    ArrayState* const state = python.array_in(object);
    if (!state) return nullptr;
    auto const refuse = [&] {
      throw BufferError("this " + state->describe() + " is on " + to_string(state->residency().device()) +
                        ", where the host does not reach: move it with move_memory(memarray.dlpack.kDLCPU) first");
    };
    // Checked before the lease opens: a write lease on the device makes the host side stale.
    if (state->residency().on_device()) refuse();
    auto const kind = writable ? LeaseCore::Kind::write : LeaseCore::Kind::read;
    auto lease = std::make_unique<LeaseCore>(ArrayStatePtr::share(state), kind, LeaseOptions{});
    lease->enter(tracing() ? words_for(what) : std::string());
    if (lease->stream_lease() != 0) refuse();
    std::byte* const data = lease->block().data();
    return hand_over(data, std::move(lease), *resource);
  });
}

void* view_as_pointer(void* object, int writable, MemArrayResource* resource) noexcept {
  return keep("BufferView_AsPointerRes", resource, [&](ObjectBridge const& python) -> void* {
    auto view = std::make_unique<ViewCore>();
    if (!python.view_in(object, *view)) return nullptr;
    view->check_host();
    if (writable) view->check_writable("a pointer to write through");
    if (!view->is_contiguous())
      throw BufferError("this " + view->describe() +
                        " is not dense in C order, which a pointer cannot describe: copy it with ensure_contiguous() "
                        "first");
    std::byte* const data = view->data();
    return hand_over(data, std::move(view), *resource);
  });
}

}  // namespace memarray::detail
