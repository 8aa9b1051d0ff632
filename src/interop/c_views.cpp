#include <memarray/interop/c_views.h>
#include <memarray/base/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "array_ref.hpp"
#include "with_python.hpp"

namespace memarray::detail {
namespace {

ViewCore const& core(MemArrayViewRef view) noexcept { return view->handle; }

/// `change` returns the byte offset of the first element.
template <class Change>
MemArrayViewRef changed(MemArrayViewRef view, Change const& change) noexcept {
  return give_made_of<MemArrayView>(view, [&] {
    StridedLayout layout = core(view).layout();
    std::int64_t const offset = change(layout);
    return core(view).at(layout, offset);
  });
}

MemArrayViewRef transposed(MemArrayViewRef view, int const* axes) noexcept {
  return changed(view, [&](StridedLayout& layout) {
    layout.transpose(axes ? std::span(axes, static_cast<std::size_t>(layout.ndim())) : std::span<int const>());
    return std::int64_t{0};
  });
}

template <Reduction reduction>
MemArrayViewRef reduced(MemArrayViewRef view, int count, int const* axes) noexcept {
  return give_made_of<MemArrayView>(view, [&] {
    if (count < 0 || (count > 0 && !axes))
      throw ValueError("expected the axes to reduce over, got NULL or a negative number of them");
    int const ndim = core(view).layout().ndim();
    return core(view).reduced(
        reduction, count == 0 ? every_axis(ndim) : axis_mask(std::span(axes, static_cast<std::size_t>(count)), ndim));
  });
}

void* data_of(ViewCore const& view, bool writable) {
  if (writable) view.check_writable("a pointer to write through");
  std::byte* const data = view.data();
  if (view.on_device()) view.export_to(&view.stream());
  return data;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-throwing-static-initialization): a constant, whose functions are not called here.
constinit MemArrayViewAPI const view_api = {
    .size = sizeof(MemArrayViewAPI),

    .view_from_object =
        [](void* object) {
          return with_python<MemArrayView>([&](ObjectBridge const& python) -> MemArrayViewRef {
            ViewCore view;
            return python.import_view(object, view) ? new MemArrayView(std::move(view)) : nullptr;
          });
        },
    .view_to_object =
        [](MemArrayViewRef view) {
          return with_python<void>([&](ObjectBridge const& python) {
            if (!view) throw ValueError("view_to_object was given a ref that is NULL");
            return python.show_view(core(view));
          });
        },
    .create_view =
        [](char const* dtype, int ndim, std::int64_t const* shape) {
          return give_made<MemArrayView>(
              [&] { return ViewCore::make(dtype_named(dtype), extents_of(ndim, shape, 0)); });
        },
    .retain_view = retain<MemArrayView>,
    .release_view = release<MemArrayView>,

    .view_dtype = [](MemArrayViewRef view) -> char const* {
      return none_null(view) ? core(view).dtype().name : nullptr;
    },
    .view_itemsize = [](MemArrayViewRef view) -> std::size_t {
      return none_null(view) ? core(view).dtype().itemsize : 0;
    },
    .view_ndim = [](MemArrayViewRef view) { return none_null(view) ? core(view).layout().ndim() : -1; },
    .view_shape = [](MemArrayViewRef view) -> std::int64_t const* {
      return none_null(view) ? core(view).layout().shape().data() : nullptr;
    },
    .view_strides = [](MemArrayViewRef view) -> std::int64_t const* {
      return none_null(view) ? core(view).layout().strides().data() : nullptr;
    },
    .view_size = [](MemArrayViewRef view) -> std::int64_t { return none_null(view) ? core(view).layout().size() : -1; },
    .view_device =
        [](MemArrayViewRef view, MemArrayDevice* device) {
          if (!none_null(view, device)) return -1;
          return attempt([&] {
            Device const here = core(view).device();
            *device = {here.type, here.id};
          });
        },
    .view_is_writable = [](MemArrayViewRef view) -> int { return view && core(view).writable(); },
    .view_is_contiguous = [](MemArrayViewRef view) -> int { return view && core(view).is_contiguous(); },
    .view_data = [](MemArrayViewRef view, int writable) -> void* {
      return none_null(view) ? attempt<void*>(nullptr, [&] { return data_of(core(view), writable != 0); }) : nullptr;
    },

    .slice_view =
        [](MemArrayViewRef view, int dimension, std::int64_t start, std::int64_t stop, std::int64_t step) {
          return changed(view, [&](StridedLayout& layout) { return layout.slice(dimension, {start, stop, step}); });
        },
    .select_view =
        [](MemArrayViewRef view, int dimension, std::int64_t index) {
          return changed(view, [&](StridedLayout& layout) { return layout.select(dimension, index); });
        },
    .transpose_view = transposed,
    .reshape_view =
        [](MemArrayViewRef view, int ndim, std::int64_t const* shape) {
          return give_made_of<MemArrayView>(view, [&] { return core(view).reshaped(extents_of(ndim, shape, 0)); });
        },
    .broadcast_view =
        [](MemArrayViewRef view, int ndim, std::int64_t const* shape) {
          return give_made_of<MemArrayView>(view, [&] { return core(view).broadcast_to(extents_of(ndim, shape, 0)); });
        },

    .copy_view =
        [](MemArrayViewRef view) { return give_made_of<MemArrayView>(view, [&] { return core(view).copy(); }); },
    .contiguous_view =
        [](MemArrayViewRef view) {
          return give_made_of<MemArrayView>(view, [&] { return core(view).ensure_contiguous(); });
        },
    .cast_view =
        [](MemArrayViewRef view, char const* dtype) {
          return give_made_of<MemArrayView>(view, [&] { return core(view).cast(dtype_named(dtype)); });
        },
    .view_to_device =
        [](MemArrayViewRef view, MemArrayDevice device, MemArrayStreamRef stream) {
          return give_made_of<MemArrayView>(view, [&] {
            StreamChoice const choice = stream_of(stream);
            return core(view).to_device(device_of(device), stream ? &choice : nullptr);
          });
        },
    .sum_view = reduced<Reduction::sum>,
    .mean_view = reduced<Reduction::mean>,
    .min_view = reduced<Reduction::min>,
    .max_view = reduced<Reduction::max>,

    .fill_view =
        [](MemArrayViewRef view, void const* element) {
          return none_null(view, element) ? attempt([&] { core(view).fill(element); }) : -1;
        },
    .read_element =
        [](MemArrayViewRef view, void* element) {
          if (!none_null(view, element)) return -1;
          return attempt([&] {
            if (core(view).layout().size() == 0)
              throw IndexError("there is no element in this " + core(view).describe());
            core(view).read_element(element);
          });
        },
};

}  // namespace memarray::detail
