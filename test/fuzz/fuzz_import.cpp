#include "fuzz.hpp"

#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/detail/view/adopt.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/view/dlpack_tensor.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

// Generates DLPack tensors whose fields come from the input bytes. An accepted import must match the tensor, a refusal
// must be justified, and the deleter is called exactly once in either case.
namespace memarray::fuzz {
namespace {

using detail::ViewCore;
using Wide = __int128;

constexpr std::size_t memory_size = 4096;
constexpr std::int64_t few = 4096;  // elements that are read

template <class Managed>
struct Producer {
  // Separate heap allocations of exactly the tensor's size, so that a sanitizer sees reads past the end.
  std::unique_ptr<std::byte[]> memory{new (std::align_val_t{64}) std::byte[memory_size]{}};
  std::unique_ptr<std::int64_t[]> shape;
  std::unique_ptr<std::int64_t[]> strides;
  int deleted = 0;
  Managed managed{};

  explicit Producer(Input& input) {
    DLTensor& tensor = managed.dl_tensor;
    managed.manager_ctx = this;
    if (!input.one_in(16))
      managed.deleter = [](Managed* self) { ++static_cast<Producer*>(self->manager_ctx)->deleted; };
    if constexpr (requires { managed.version; }) {
      managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
      if (input.one_in(16)) managed.version = {input.raw<std::uint32_t>(), input.raw<std::uint32_t>()};
      managed.flags = input.one_in(4) ? input.raw<std::uint64_t>() : input.flag() ? 1 : 0;
    }
    fill_dtype(input);
    tensor.device = {kDLCPU, 0};
    if (input.one_in(8))
      tensor.device = {static_cast<DLDeviceType>(input.one_in(2) ? input.raw<std::int32_t>() : input.below(20)),
                       input.raw<std::int32_t>()};
    tensor.ndim = input.one_in(8) ? input.raw<std::int32_t>() : static_cast<std::int32_t>(input.below(20)) - 1;
    // A rank above the maximum gets no more entries.
    auto const length = static_cast<std::size_t>(std::clamp(tensor.ndim, 0, StridedLayout::max_ndim));
    shape = list(input, length, false);
    strides = list(input, length, true);
    tensor.shape = shape.get();
    tensor.strides = strides.get();
    std::int64_t const where = input.below(16);
    tensor.data = where == 0   ? nullptr
                  : where == 1 ? reinterpret_cast<void*>(input.number())  // NOLINT(performance-no-int-to-ptr)
                               : memory.get() + (where == 2 ? input.below(256) : where * 64);
    tensor.byte_offset = input.one_in(4) ? static_cast<std::uint64_t>(input.number()) : 0;
  }

  static void release(std::byte* memory) { ::operator delete[](memory, std::align_val_t{64}); }
  Producer(Producer const&) = delete;
  Producer& operator=(Producer const&) = delete;
  ~Producer() { release(memory.release()); }

 private:
  void fill_dtype(Input& input) {
    auto const all = shipped_dtypes();
    managed.dl_tensor.dtype = all[static_cast<std::size_t>(input.below(static_cast<std::int64_t>(all.size())))].dl;
    if (input.one_in(16))
      managed.dl_tensor.dtype = {input.raw<std::uint8_t>(), input.raw<std::uint8_t>(), input.raw<std::uint16_t>()};
  }

  static std::unique_ptr<std::int64_t[]> list(Input& input, std::size_t count, bool of_strides) {
    if (input.one_in(of_strides ? 3 : 16)) return nullptr;
    std::unique_ptr<std::int64_t[]> result(new std::int64_t[count]);
    bool const any = input.one_in(4);
    for (std::size_t d = 0; d < count; ++d)
      result[d] = any ? input.number() : of_strides ? input.raw<std::int8_t>() : input.below(6);
    return result;
  }
};

/// The extent of a tensor, computed without overflow. `extent_of` returns nothing if no array can have such a layout.
struct Extent {
  Wide size = 1;   // elements
  Wide first = 0;  // bytes from the first address to the lowest element
  Wide last = 0;   // and to the end of the highest element
};

std::optional<Extent> extent_of(DLTensor const& tensor, std::size_t itemsize) {
  constexpr Wide most = std::numeric_limits<std::int64_t>::max();
  Extent described;
  Wide steps = 1;  // of a dense array
  std::span<std::int64_t const> const shape(tensor.shape, static_cast<std::size_t>(tensor.ndim));
  // An empty tensor's strides are irrelevant.
  bool const empty = std::ranges::find(shape, 0) != shape.end();
  for (int d = tensor.ndim; d-- > 0;) {
    Wide const extent = tensor.shape[d];
    if (extent < 0) return std::nullopt;
    if (extent > 1) {
      Wide const distance = (extent - 1) * (tensor.strides ? Wide{tensor.strides[d]} : steps);
      if (!empty && (distance > most || distance < -most)) return std::nullopt;
      if (!empty) (distance < 0 ? described.first : described.last) += distance * static_cast<Wide>(itemsize);
      steps *= extent;
    }
    if (steps > most) return std::nullopt;
  }
  // Elements that share memory count towards the limit, too.
  if (!empty && steps * static_cast<Wide>(itemsize) > most) return std::nullopt;
  described.size = empty ? 0 : steps;
  described.last += static_cast<Wide>(itemsize);
  if (empty) described.first = described.last = 0;
  return described;
}

bool is_a_place_of_the_host(DLDevice device) {
  bool const known =
      device.device_type == kDLCPU || device.device_type == kDLCUDAHost || device.device_type == kDLCUDAManaged;
  return known && device.device_id >= 0;
}

template <class Managed>
bool is_read_only(Managed const& managed) {
  if constexpr (requires { managed.flags; })
    return (managed.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  else
    return false;
}

/// True if every element lies within the memory.
bool is_inside(DLTensor const& tensor, Extent const& described, std::byte const* memory) {
  auto const address = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(tensor.data)) + tensor.byte_offset;
  auto const begin = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(memory));
  return described.size > 0 && address + described.first >= begin &&
         address + described.last <= begin + Wide{memory_size};
}

/// True only for a tensor that every importer must accept: elements within the memory, aligned, of a known dtype.
template <class Managed>
bool is_good(Producer<Managed> const& producer, DType const* dtype) {
  DLTensor const& tensor = producer.managed.dl_tensor;
  if constexpr (requires { producer.managed.version; })
    if (producer.managed.version.major != DLPACK_MAJOR_VERSION) return false;
  if (!dtype || tensor.dtype.lanes != 1 || !is_a_place_of_the_host(tensor.device)) return false;
  if (tensor.ndim < 0 || tensor.ndim > StridedLayout::max_ndim || (tensor.ndim > 0 && !tensor.shape)) return false;
  auto const described = extent_of(tensor, dtype->itemsize);
  auto const address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  return described && is_inside(tensor, *described, producer.memory.get()) && address % dtype->alignment == 0 &&
         dtype->alignment <= dtype->itemsize;
}

void export_on(ViewCore const& view) {
  DLManagedTensorVersioned* exported = nullptr;
  try {
    exported = detail::export_versioned(view);
  } catch (BufferError const&) {
    return;  // strides that DLPack or its consumers do not support
  }
  DLTensor const& tensor = exported->dl_tensor;
  check(tensor.data == view.data() && tensor.byte_offset == 0, "exported with another address");
  check(((exported->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0) == view.writable(), "read-only lost on the way");
  check(tensor.ndim == view.layout().ndim(), "exported with another rank");
  ViewCore const again = detail::import_dlpack(exported);
  for (int d = 0; d < view.layout().ndim(); ++d) {
    check(again.layout().extent(d) == view.layout().extent(d), "came back with another shape");
    check(view.layout().size() == 0 || view.layout().extent(d) <= 1 ||
              again.layout().stride(d) == view.layout().stride(d),
          "came back with other strides");
  }
  check(again.writable() == view.writable(), "came back otherwise writable");
  try {
    DLManagedTensor* const unversioned = detail::export_unversioned(view);
    check(view.writable(), "the older struct cannot say read-only");
    unversioned->deleter(unversioned);
  } catch (BufferError const&) {
    check(!view.writable(), "refused to the older struct");
  }
}

/// Reads every element of a small view, and the layout of any view.
void use(ViewCore const& view, bool reachable) {
  static_cast<void>(view.describe());
  static_cast<void>(view.bytes());
  // Bools are checked, so they are read.
  if (reachable || view.dtype().dl.code != kDLBool) static_cast<void>(detail::why_not_adopted(view));
  StridedLayout const& layout = view.layout();
  bool const contiguous = view.is_contiguous();
  static_cast<void>(layout.is_fortran_contiguous(view.dtype().itemsize));
  bool const overlaps = layout.may_overlap(view.dtype().itemsize);
  export_on(view);
  if (!reachable || layout.size() > few) return;
  ViewCore const copy = view.copy();
  check(copy.is_contiguous() && copy.writable(), "a copy is one's own");
  check(contiguous == (view.ensure_contiguous().data() == view.data()), "copied though contiguous, or not");
  if (contiguous && layout.size() > 0)
    check(std::memcmp(copy.data(), view.data(), copy.bytes()) == 0, "other elements");
  static_cast<void>(view.reduced(detail::Reduction::sum, detail::every_axis(layout.ndim())));
  // An empty view has no first element.
  std::vector<std::byte> element(view.dtype().itemsize);
  if (layout.size() > 0) std::memcpy(element.data(), copy.data(), element.size());
  try {
    view.fill(element.data());
    check(view.writable() && !overlaps, "written though read-only, or shared");
  } catch (BufferError const&) {
    check(!view.writable(), "not written");
  } catch (ValueError const&) {
    check(overlaps, "not written");
  }
  if (!detail::why_not_adopted(view)) {
    detail::ArrayStatePtr const array = detail::adopt(view);
    check(array->residency().is_foreign(), "adopted");
  }
}

template <class Managed>
void import_and_use(Input& input) {
  Producer<Managed> producer(input);
  Managed& managed = producer.managed;
  DLTensor const& tensor = managed.dl_tensor;
  DType const* const dtype = find_dtype(tensor.dtype);
  bool const has_deleter = managed.deleter != nullptr;
  bool imported = false;
  try {
    ViewCore const view = detail::import_dlpack(&managed);
    imported = true;
    check(dtype && tensor.dtype.lanes == 1 && view.dtype() == *dtype, "a dtype of its own invention");
    check(is_a_place_of_the_host(tensor.device), "memory that the host does not reach");
    check(tensor.ndim >= 0 && tensor.ndim == view.layout().ndim(), "another rank");
    check(view.writable() == !is_read_only(managed), "otherwise writable");
    auto const described = extent_of(tensor, dtype->itemsize);
    check(described.has_value(), "a shape that cannot be");
    check(view.layout().size() == described->size, "another size");
    check(described->size * static_cast<Wide>(dtype->itemsize) == Wide{view.bytes()}, "another size in bytes");
    auto const address = static_cast<Wide>(reinterpret_cast<std::uintptr_t>(tensor.data)) + tensor.byte_offset;
    constexpr Wide end = Wide{1} << 64;
    if (described->size > 0) {
      check(static_cast<Wide>(reinterpret_cast<std::uintptr_t>(view.data())) == address, "another address");
      check(address + described->first >= 0 && address + described->last <= end, "elements beyond all addresses");
      check(tensor.data != nullptr, "elements at NULL");
      StridedLayout::Span const span = view.layout().span(dtype->itemsize);
      check(span.first == described->first && span.last == described->last, "another span");
    }
    for (int d = 0; d < tensor.ndim; ++d) check(view.layout().extent(d) == tensor.shape[d], "another shape");
    check(producer.deleted == 0, "deleted while it is viewed");
    use(view, described->size == 0 || is_inside(tensor, *described, producer.memory.get()));
  } catch (BufferError const& error) {
    check(!imported, error.what());
    check(!is_good(producer, dtype), "refused without a reason");
  }
  check(producer.deleted == (has_deleter ? 1 : 0), "deleted never, or twice");
}

}  // namespace
}  // namespace memarray::fuzz

int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  memarray::fuzz::Input input({data, size});
  if (input.flag())
    memarray::fuzz::import_and_use<DLManagedTensorVersioned>(input);
  else
    memarray::fuzz::import_and_use<DLManagedTensor>(input);
  return 0;
}
