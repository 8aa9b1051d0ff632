#include <memarray/interop/c_arrays.h>
#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/detail/state/array_operations.hpp>
#include <memarray/detail/view/adopt.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "array_ref.hpp"
#include "with_python.hpp"

namespace memarray::detail {
namespace {

Timeout timeout_of(double seconds) {
  if (std::isnan(seconds)) throw ValueError("the timeout is not a number of seconds");
  constexpr double most = 9e9;  // more overflow 64 bits of nanoseconds
  if (seconds < 0 || seconds > most) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds));
}

MemArrayLeaseRef open_lease(MemArrayArrayRef array, LeaseCore::Kind kind, double timeout, MemArrayDevice const* device,
                            MemArrayStreamRef stream, bool discard) noexcept {
  if (!none_null(array)) return nullptr;
  return attempt<MemArrayLeaseRef>(nullptr, [&] {
    LeaseOptions options{.timeout = timeout_of(timeout), .discard = discard, .stream = stream_of(stream)};
    if (device) options.device = device_of(*device);
    auto lease = std::make_unique<MemArrayLease>(*array->handle, kind, options);
    lease->core.enter(tracing() ? "an extension in C" : "");
    return lease.release();
  });
}

/// Copies the shape: other threads may resize the array.
std::int64_t size_of(ArrayState const& state) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(state.ndim()));
  state.copy_shape(shape.data());
  return checked_size(shape);
}

void* data_of(LeaseCore const& lease, bool writable) {
  std::byte* const data = lease.block().data();
  if (writable && !lease.is_write()) throw BufferError("a read lease exports read-only memory; take a write lease");
  if (lease.stream_lease() != 0 && !lease.block().uses()->export_to(lease.stream_lease(), nullptr, true))
    lease.throw_not_open();
  return data;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): a constant, whose functions are not called here.
constinit MemArrayArrayAPI const array_api = {
    .size = sizeof(MemArrayArrayAPI),

    .create_array =
        [](char const* dtype, int ndim, std::int64_t const* shape, int device_id, int uninitialized) {
          return give_made<MemArrayArray>([&] {
            return ArrayState::make(dtype_named(dtype), extents_of(ndim, shape, 1), device_id,
                                    ArrayOptions{.uninitialized = uninitialized != 0});
          });
        },
    .array_from_object =
        [](void* object) {
          return with_python<MemArrayArray>([&](ObjectBridge const& python) -> MemArrayArrayRef {
            ArrayState* const state = python.array_in(object);
            return state ? new MemArrayArray(ArrayStatePtr::share(state)) : nullptr;
          });
        },
    .array_to_object =
        [](MemArrayArrayRef array) {
          return with_python<void>([&](ObjectBridge const& python) {
            if (!array) throw ValueError("array_to_object was given a ref that is NULL");
            return python.show_array(*array->handle);
          });
        },
    .adopt_view =
        [](MemArrayViewRef view) { return give_made_of<MemArrayArray>(view, [&] { return adopt(view->handle); }); },
    .copy_array =
        [](MemArrayArrayRef array) {
          return give_made_of<MemArrayArray>(array, [&] { return clone(*array->handle); });
        },
    .retain_array = retain<MemArrayArray>,
    .release_array = release<MemArrayArray>,

    .array_dtype = [](MemArrayArrayRef array) -> char const* {
      return none_null(array) ? array->handle->dtype().name : nullptr;
    },
    .array_itemsize = [](MemArrayArrayRef array) -> std::size_t {
      return none_null(array) ? array->handle->dtype().itemsize : 0;
    },
    .array_ndim = [](MemArrayArrayRef array) { return none_null(array) ? array->handle->ndim() : -1; },
    .array_shape =
        [](MemArrayArrayRef array, std::int64_t* shape) {
          if (!none_null(array, shape)) return -1;
          array->handle->copy_shape(shape);
          return 0;
        },
    .array_size = [](MemArrayArrayRef array) -> std::int64_t {
      return none_null(array) ? attempt<std::int64_t>(-1, [&] { return size_of(*array->handle); }) : -1;
    },
    .array_device =
        [](MemArrayArrayRef array, MemArrayDevice* device) {
          if (!none_null(array, device)) return -1;
          Device const here = array->handle->residency().device();
          *device = {here.type, here.id};
          return 0;
        },
    .array_lock_id = [](MemArrayArrayRef array) -> std::int64_t {
      return none_null(array) ? array->handle->lock().lock_id() : -1;
    },

    .fill_array =
        [](MemArrayArrayRef array, void const* element, std::int64_t lock_id) {
          return none_null(array, element) ? attempt([&] { fill(*array->handle, element, lock_id); }) : -1;
        },
    .resize_array =
        [](MemArrayArrayRef array, std::int64_t const* shape) {
          if (!none_null(array, shape)) return -1;
          return attempt([&] { resize(*array->handle, extents_of(array->handle->ndim(), shape, 1)); });
        },
    .move_memory =
        [](MemArrayArrayRef array, MemArrayDevice device, MemArrayStreamRef stream, int async) {
          if (!none_null(array)) return -1;
          return attempt([&] { move_to(*array->handle, device_of(device), -1, stream_of(stream), async != 0); });
        },

    .read_array = [](MemArrayArrayRef array, double timeout, MemArrayDevice const* device, MemArrayStreamRef stream)
        -> MemArrayLeaseRef { return open_lease(array, LeaseCore::Kind::read, timeout, device, stream, false); },
    .write_array = [](MemArrayArrayRef array, double timeout, MemArrayDevice const* device, MemArrayStreamRef stream,
                      int discard) -> MemArrayLeaseRef {
      return open_lease(array, LeaseCore::Kind::write, timeout, device, stream, discard != 0);
    },
    .retain_lease = retain<MemArrayLease>,
    .release_lease = release<MemArrayLease>,
    .close_lease =
        [](MemArrayLeaseRef lease) {
          if (lease) lease->core.exit();
        },
    .lease_is_open = [](MemArrayLeaseRef lease) -> int { return lease && lease->core.is_open(); },
    .lease_lock_id = [](MemArrayLeaseRef lease) -> std::int64_t {
      return none_null(lease) ? lease->core.lock_id() : -1;
    },
    .lease_data = [](MemArrayLeaseRef lease, int writable) -> void* {
      return none_null(lease) ? attempt<void*>(nullptr, [&] { return data_of(lease->core, writable != 0); }) : nullptr;
    },
    .lease_view =
        [](MemArrayLeaseRef lease) { return give_made_of<MemArrayView>(lease, [&] { return ViewCore(lease->core); }); },
    .array_view =
        [](MemArrayArrayRef array) {
          return give_made_of<MemArrayView>(array, [&] { return view_of(*array->handle); });
        },
};

}  // namespace memarray::detail
