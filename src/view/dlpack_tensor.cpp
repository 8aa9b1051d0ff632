#include <memarray/base/errors.hpp>
#include <memarray/base/shape.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace memarray {

DLPackTensor::~DLPackTensor() {
  if (_versioned && _versioned->deleter) _versioned->deleter(_versioned);
  if (_unversioned && _unversioned->deleter) _unversioned->deleter(_unversioned);
}

namespace detail {
namespace {

/// A managed tensor and its export, followed by shape and strides. For a block's only export it lies in the block.
template <class Managed>
struct Box {
  Managed managed;  // first: `destroy` converts its address
  Block* block;
  bool writable;

  static void destroy(Managed* managed) noexcept {
    if (!managed) return;
    auto* const box = reinterpret_cast<Box*>(managed);
    Block* const block = box->block;
    bool const writable = box->writable;
    if (box != block->only_export()) std::free(box);
    block->drop_export(writable);
  }
};

/// Makes a managed tensor. Takes over a counted export of `block`, even if allocation throws. `only`: it is the only
/// one. `describe` writes shape and element strides, and returns the data.
template <class Managed, class Describe>
Managed* export_to(Block& block, bool only, int rank, DLDataType dtype, bool writable, std::uint64_t flags,
                   bool as_host, Describe const& describe) {
  using TheBox = Box<Managed>;
  auto const ndim = static_cast<std::size_t>(rank);
  std::size_t const bytes = sizeof(TheBox) + 2 * ndim * sizeof(std::int64_t);
  void* const memory = only && bytes <= Block::only_export_room ? block.only_export() : std::malloc(bytes);
  if (!memory) {
    block.drop_export(writable);
    throw std::bad_alloc();
  }
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization): the device is set below.
  auto* const box = new (memory) TheBox{{}, &block, writable};
  auto* const shape = reinterpret_cast<std::int64_t*>(box + 1);
  std::int64_t* const strides = shape + ndim;
  std::byte* const data = describe(shape, strides);

  Managed& managed = box->managed;
  Device const device = as_host ? Device{} : block.exported_device();
  managed.dl_tensor = {.data = data,
                       .device = {device.type, device.id},
                       .ndim = rank,
                       .dtype = dtype,
                       .shape = shape,
                       .strides = strides,
                       .byte_offset = 0};
  managed.manager_ctx = box;
  managed.deleter = &TheBox::destroy;
  if constexpr (requires { managed.flags; }) {
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.flags = flags;
  }
  return &managed;
}

template <class Managed>
Managed* export_to(Block& block, bool only, ArrayState const& state, bool writable, std::uint64_t flags,
                   bool as_host = false) {
  return export_to<Managed>(block, only, state.ndim(), state.dtype().dl, writable, flags, as_host,
                            [&](std::int64_t* shape, std::int64_t* strides) {
                              auto const ndim = static_cast<std::size_t>(state.ndim());
                              state.copy_shape(shape);
                              c_strides({shape, ndim}, {strides, ndim});
                              return block.data();
                            });
}

void check_dtype(DType const& dtype) {
  if (!dtype.has_dlpack())
    throw BufferError("DLPack has no dtype for " + std::string(dtype.name_view()) +
                      "; use the buffer protocol: np.asarray");
}

[[noreturn]] void throw_read_only(std::string const& what) {
  throw BufferError("the consumer asked for DLPack's unversioned struct, which has no read-only flag, and " + what +
                    " is exported read-only; ask for max_version=(1, 0), or export it writable: "
                    "'with a.get_dlpack() as lease' (or a.write())");
}

// `why` is as in `ViewCore::copy`.
ViewCore copy_for_consumer(ViewCore const& view, ExportRequest const& request, char const* why) {
  if (!view.on_device()) return view.copy(why);
  if (request.to_host) {
    ViewCore const on_host = view.to_device(Device{});
    // `to_device` shares unified memory.
    return on_host.data() == view.data() ? on_host.copy(why) : on_host;
  }
  ViewCore copy = (request.stream ? view.in_stream(*request.stream) : view).copy(why);
  // A consumer without a stream gets a finished copy.
  if (!request.stream) copy.block().uses()->synchronize(Use::read, "a blocking copy of a view");
  return copy;
}

template <class Managed>
Managed* export_view(ViewCore const& view, ExportRequest const& request);

template <class Managed>
Managed* export_copy(ViewCore const& view, ExportRequest const& request, char const* why) {
  check_dtype(view.dtype());
  ViewCore const copy = copy_for_consumer(view, request, why);
  Managed* const managed = export_view<Managed>(copy, {.stream = copy.on_device() ? request.stream : nullptr});
  if constexpr (requires { managed->flags; }) managed->flags = DLPACK_FLAG_BITMASK_IS_COPIED;
  return managed;
}

template <class Managed>
Managed* export_view(ViewCore const& view, ExportRequest const& request) {
  constexpr bool can_say_read_only = requires(Managed managed) { managed.flags; };
  check_dtype(view.dtype());
  if (request.copy) return export_copy<Managed>(view, request, "copy of a ");
  BlockExport own = view.memory();
  if (!can_say_read_only && !own.writable()) throw_read_only("this " + view.describe());
  check_exportable_strides(view);
  if (view.on_device()) view.export_to(request.stream);
  bool const writable = own.writable();
  return export_to<Managed>(*own.release(), false, view.layout().ndim(), view.dtype().dl, writable,
                            writable ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY, !view.on_device(),
                            [&](std::int64_t* shape, std::int64_t* strides) {
                              std::ranges::copy(view.layout().shape(), shape);
                              write_element_strides(view, strides);
                              return view.data();
                            });
}

/// Another thread may close a view on a device while its export is ordered in streams.
template <class Managed>
Managed* export_open(ViewCore const& view, ExportRequest const& request) {
  return view.on_device() ? export_view<Managed>(ViewCore(view), request) : export_view<Managed>(view, request);
}

/// Checks the lease again: only while it is open, the shape belongs to its memory.
template <class Managed>
Managed* checked(LeaseCore const& lease, Managed* managed) {
  if (lease.is_open()) return managed;
  managed->deleter(managed);
  lease.throw_not_open();
}

template <class Managed>
Managed* export_leased(LeaseCore const& lease, ExportRequest const& request) {
  // The view keeps the contents if another thread closes the lease meanwhile.
  if (request.copy) return checked(lease, export_copy<Managed>(ViewCore(lease), request, nullptr));
  if (!lease.state().dtype().has_dlpack()) check_dtype(lease.state().dtype());
  std::uint64_t const flags = lease.is_write() ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  bool only = false;
  Block& block = lease.add_export(only);
  if (block.uses() && (block.is_on_device() || !request.to_host)) {
    try {
      lease.order_export(request.stream);
    } catch (...) {
      block.drop_export(lease.is_write());
      throw;
    }
  }
  return checked(lease, export_to<Managed>(block, only, lease.state(), lease.is_write(), flags, request.to_host));
}

}  // namespace

DLManagedTensor* export_unversioned(LeaseCore const& lease, ExportRequest const& request) {
  lease.check_open();
  if (!lease.is_write() && !request.copy) throw_read_only(lease.state().describe());
  return export_leased<DLManagedTensor>(lease, request);
}

DLManagedTensorVersioned* export_versioned(LeaseCore const& lease, ExportRequest const& request) {
  return export_leased<DLManagedTensorVersioned>(lease, request);
}

void check_exportable_strides(ViewCore const& view) {
  auto const itemsize = static_cast<std::int64_t>(view.dtype().itemsize);
  for (int d = 0; d < view.layout().ndim(); ++d) {
    if (view.layout().extent(d) <= 1 || view.layout().size() == 0) continue;
    std::int64_t const stride = view.layout().stride(d);
    char const* const wrong = stride < 0 ? "negative strides, which make some consumers abort"
                              : stride % itemsize != 0
                                  ? "strides that are not whole elements, which DLPack cannot express"
                                  : nullptr;
    if (wrong)
      throw BufferError("this " + view.describe() + " has " + wrong + ": export a copy(), or use np.asarray(view)");
  }
}

void write_element_strides(ViewCore const& view, std::int64_t* strides) {
  StridedLayout const& layout = view.layout();
  std::size_t const itemsize = view.dtype().itemsize;
  auto const ndim = static_cast<std::size_t>(layout.ndim());
  if (layout.is_contiguous(itemsize) || !layout.is_fortran_contiguous(itemsize)) {
    c_strides(layout.shape(), {strides, ndim});
  } else {
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < ndim; stride *= layout.shape()[d++]) strides[d] = stride;
  }
  if (layout.size() == 0) return;
  for (std::size_t d = 0; d < ndim; ++d)
    if (layout.shape()[d] > 1) strides[d] = layout.strides()[d] / static_cast<std::int64_t>(itemsize);
}

DLManagedTensor* export_unversioned(ViewCore const& view, ExportRequest const& request) {
  return export_open<DLManagedTensor>(view, request);
}

DLManagedTensorVersioned* export_versioned(ViewCore const& view, ExportRequest const& request) {
  return export_open<DLManagedTensorVersioned>(view, request);
}

DLPackTensor export_under(ArrayState& state, bool versioned, std::int64_t lock_id) {
  check_dtype(state.dtype());
  if (lock_id < 0) {
    if (!versioned) throw_read_only(state.describe());
    LeaseCore lease(ArrayStatePtr::share(&state), LeaseCore::Kind::read, {});
    lease.enter();
    return DLPackTensor(export_versioned(lease));
  }
  if (!state.lock().is_held_under(lock_id)) state.refuse("get_dlpack_tensor", lock_id);
  Block& block = state.residency().block();
  // The consumer names no stream, so no work may be pending.
  await(block, Use::write, default_stream());
  if (StreamDependencies* const uses = block.uses())
    uses->synchronize(Use::write, "an export for any stream, after all users");
  bool const only = block.add_export(true);
  try {
    // Count the export before the check: the lease's close then sees it and its pending work.
    if (StreamDependencies* const uses = block.uses()) uses->export_for_writer();
    if (!state.lock().is_held_under(lock_id)) state.refuse("get_dlpack_tensor", lock_id);
  } catch (...) {
    block.drop_export(true);
    throw;
  }
  if (versioned) return DLPackTensor(export_to<DLManagedTensorVersioned>(block, only, state, true, 0));
  return DLPackTensor(export_to<DLManagedTensor>(block, only, state, true, 0));
}

}  // namespace detail
}  // namespace memarray
