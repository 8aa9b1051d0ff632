#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/detail/memory/stream_dependencies.hpp>
#include <memarray/detail/view/import_dlpack.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>
#include <memarray/driver/simulated_devices.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace memarray::detail {
namespace {

// CUpointer_attribute, CUmemorytype
constexpr int memory_type_attribute = 2;
constexpr int device_ordinal_attribute = 9;
constexpr unsigned device_memory = 2;

[[noreturn]] void refuse(std::string const& why) { throw BufferError("cannot import this DLPack tensor: " + why); }

struct TensorLocation {
  Device device;
  MemoryType type;
};

TensorLocation location_of(DLDevice device) {
  if (device.device_id < 0) refuse("its device id is " + std::to_string(device.device_id));
  switch (device.device_type) {
    // Some libraries number CPUs.
    case kDLCPU: return {Device{}, MemoryType::normal};
    case kDLCUDAHost: return {Device{}, MemoryType::pinned};
    case kDLCUDAManaged: return {Device{}, MemoryType::unified};
    case kDLCUDA: return {{kDLCUDA, device.device_id}, MemoryType::device};
    case kDLExtDev:
      // A simulated device; `import_memory` checks that it owns the address.
      if (testing::detail::are_simulated()) return {{kDLCUDA, device.device_id}, MemoryType::device};
      refuse("its memory is on an extension device, which memarray does not know");
    default: refuse("its device type, " + std::to_string(device.device_type) + ", is unknown to memarray");
  }
}

/// Returns a name like "float32x4".
std::string name_of(DLDataType type) {
  // By DLPack's type code.
  constexpr std::array names = {"int",
                                "uint",
                                "float",
                                "opaque",
                                "bfloat",
                                "complex",
                                "bool",
                                "float8_e3m4",
                                "float8_e4m3",
                                "float8_e4m3b11fnuz",
                                "float8_e4m3fn",
                                "float8_e4m3fnuz",
                                "float8_e5m2",
                                "float8_e5m2fnuz",
                                "float8_e8m0fnu",
                                "float6_e2m3fn",
                                "float6_e3m2fn",
                                "float4_e2m1fn"};
  if (type.code >= names.size()) return "an element type that DLPack has no name for";
  bool const has_size = type.code >= kDLFloat8_e3m4 || (type.code == kDLBool && type.bits == 8);
  std::string name = names[type.code];
  if (!has_size) name += std::to_string(type.bits);
  if (type.lanes != 1) name.append("x").append(std::to_string(type.lanes));
  return name;
}

DType const& find_or_refuse(DLDataType type) {
  DType const* const found = type.lanes == 1 ? find_dtype(type) : nullptr;
  if (!found)
    refuse("memarray has no dtype for " + name_of(type) + " (code " + std::to_string(type.code) + ", " +
           std::to_string(type.bits) + " bits and " + std::to_string(type.lanes) + " lanes): convert it first");
  return *found;
}

StridedLayout layout_of(DLTensor const& tensor, std::size_t itemsize) {
  if (tensor.ndim < 0 || tensor.ndim > StridedLayout::max_ndim)
    refuse("it has " + std::to_string(tensor.ndim) + " dimensions, and a view has 0 to " +
           std::to_string(StridedLayout::max_ndim));
  auto const ndim = static_cast<std::size_t>(tensor.ndim);
  if (ndim != 0 && !tensor.shape) refuse("its shape is NULL");
  StridedLayout::Extents const shape(tensor.shape, ndim);
  if (!tensor.strides) return import_layout(shape, std::nullopt, itemsize);
  // Without elements, strides need not be valid.
  bool const empty = std::ranges::find(shape, 0) != shape.end();
  std::array<std::int64_t, StridedLayout::max_ndim> strides;
  for (std::size_t d = 0; d < ndim; ++d) {
    std::int64_t const elements = empty ? 0 : tensor.strides[d];
    if (!__builtin_mul_overflow(elements, static_cast<std::int64_t>(itemsize), &strides[d])) continue;
    strides[d] = 0;
    if (shape[d] > 1) refuse("its stride " + std::to_string(elements) + " is more than 64 bits of bytes");
  }
  return import_layout(shape, StridedLayout::Extents(strides.data(), ndim), itemsize);
}

void* data_of(DLTensor const& tensor) {
  auto const base = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::uintptr_t address = 0;
  if (__builtin_add_overflow(base, tensor.byte_offset, &address))
    refuse("its byte offset, " + std::to_string(tensor.byte_offset) + ", leaves the address space");
  return tensor.data ? reinterpret_cast<void*>(address) : nullptr;  // NOLINT(performance-no-int-to-ptr)
}

template <class Managed>
void call_deleter(void* object) {
  auto* const managed = static_cast<Managed*>(object);
  managed->deleter(managed);
}

template <class Managed>
Block::KeepAlive keep_alive_of(Managed* tensor) noexcept {
  if (!tensor->deleter) return {};
  return {tensor, [](void* object) noexcept { call_aside(call_deleter<Managed>, object); }};
}

/// Drops the tensor before `also`.
template <class Managed>
Block::KeepAlive keep_alive_of(Managed* tensor, Block::KeepAlive also) {
  if (!also.drop) return keep_alive_of(tensor);
  struct Both {
    KeepAliveGuard also;
    KeepAliveGuard tensor;
  };
  KeepAliveGuard second(also);
  KeepAliveGuard first(keep_alive_of(tensor));
  // Release only after the allocation, which may throw.
  auto* const both = new Both{KeepAliveGuard(second.release()), KeepAliveGuard(first.release())};
  return {both, [](void* object) noexcept { delete static_cast<Both*>(object); }};
}

DeviceMemoryPtr device_named(Device device) {
  try {
    return DeviceMemory::of(device.id);
  } catch (CudaError const& error) {
    if (error.code() != cuda_code::no_device && error.code() != cuda_code::invalid_device) throw;
    throw BufferError("cannot import this memory, which is on " + to_string(device) + ": " + error.what());
  }
}

/// Returns false if the driver does not know the address. Throws `CudaError`.
bool read_attribute(void const* address, int attribute, void* value) {
  DriverTable const* const table = driver();
  auto const result =
      table ? table->cuPointerGetAttribute(value, attribute, device_address(address)) : cuda_code::invalid_value;
  if (result != cuda_code::invalid_value) check_driver(result, "asking for the owner of imported memory");
  return result == 0;
}

/// Blocks, as host code reads managed memory without stream order.
void wait_for_producer(DLTensor const& tensor, StreamHandle const& ready_in) {
  // DLPack gives managed memory the device id 0 on every device.
  ContextHandle const& context = context_of(ready_in);
  int ordinal = context ? device_id_of(context) : -1;
  if (ordinal < 0 && !read_attribute(data_of(tensor), device_ordinal_attribute, &ordinal))
    ordinal = tensor.device.device_id;
  DeviceMemoryPtr const memory = device_named({kDLCUDA, ordinal});
  StreamDependencies uses(memory);
  uses.begin_after(bind_stream(ready_in, memory->context()), "importing managed memory");
  uses.synchronize(Use::read, "importing managed memory, after the producer's stream");
}

}  // namespace

ViewCore import_dlpack(DLTensor const& tensor, bool writable, Block::KeepAlive keep_alive,
                       StreamHandle const& ready_in) {
  KeepAliveGuard taken(keep_alive);
  DType const& dtype = find_or_refuse(tensor.dtype);
  TensorLocation const location = location_of(tensor.device);
  StreamHandle ready;
  if (is_used_in_streams(tensor.device)) ready = ready_in ? ready_in : get_legacy_stream();
  ForeignMemory memory(data_of(tensor), location.device, location.type, &dtype, layout_of(tensor, dtype.itemsize),
                       writable);
  memory.ready_in = ready;
  ViewCore view = import_memory(memory, taken.release());
  // Without a driver there is no pending work.
  if (location.type == MemoryType::unified && driver()) wait_for_producer(tensor, ready);
  return view;
}

bool is_used_in_streams(DLDevice device) noexcept {
  return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged ||
         (device.device_type == kDLExtDev && testing::detail::are_simulated());
}

ViewCore import_dlpack(DLManagedTensorVersioned* tensor, StreamHandle const& ready_in, Block::KeepAlive also) {
  KeepAliveGuard taken(keep_alive_of(tensor, also));
  if (tensor->version.major != DLPACK_MAJOR_VERSION)
    refuse("its version is " + std::to_string(tensor->version.major) + "." + std::to_string(tensor->version.minor) +
           ", and this library reads " + std::to_string(DLPACK_MAJOR_VERSION) + ".x");
  bool const writable = (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0;
  return import_dlpack(tensor->dl_tensor, writable, taken.release(), ready_in);
}

ViewCore import_dlpack(DLManagedTensor* tensor, StreamHandle const& ready_in, Block::KeepAlive also) {
  return import_dlpack(tensor->dl_tensor, true, keep_alive_of(tensor, also), ready_in);
}

namespace {

/// Requires a checked rank and size.
StridedLayout fortran_layout(StridedLayout::Extents shape, std::size_t itemsize) {
  std::array<std::int64_t, StridedLayout::max_ndim> strides;
  auto stride = static_cast<std::int64_t>(itemsize);
  for (std::size_t d = 0; d < shape.size(); stride *= shape[d++]) strides[d] = stride;
  return StridedLayout::strided(shape, {strides.data(), shape.size()}, itemsize);
}

}  // namespace

StridedLayout import_layout(StridedLayout::Extents shape, std::optional<StridedLayout::Extents> const& strides,
                            std::size_t itemsize) {
  std::string why;
  try {
    if (!strides) return StridedLayout::dense(shape, itemsize);
    StridedLayout const layout = StridedLayout::strided(shape, *strides, itemsize);
    if (std::ranges::find(shape, 1) == shape.end()) return layout;
    // Producers give one-element dimensions any stride; consumers expect dense strides.
    if (layout.is_contiguous(itemsize)) return StridedLayout::dense(shape, itemsize);
    if (layout.is_fortran_contiguous(itemsize)) return fortran_layout(shape, itemsize);
    return layout;
  } catch (ValueError const& error) {
    why = error.what();
  } catch (OverflowError const& error) {
    why = error.what();
  }
  throw BufferError("cannot import this memory: " + why);
}

Device device_at(void const* address) {
  unsigned kind = 0;
  int ordinal = -1;
  if (!read_attribute(address, memory_type_attribute, &kind) || kind != device_memory ||
      !read_attribute(address, device_ordinal_attribute, &ordinal))
    throw BufferError(
        "cannot import this memory: its producer reports a CUDA device, and no device of this process has "
        "memory at its address");
  return {kDLCUDA, ordinal};
}

namespace {

/// Checks the memory's device with the driver. `first`: the lowest address; null without elements.
DeviceMemoryPtr device_of(ForeignMemory const& memory, void const* first) {
  Device const found = first ? device_at(first) : memory.device;
  if (found != memory.device)
    throw BufferError("cannot import this memory: its producer reports " + to_string(memory.device) +
                      ", and it is on " + to_string(found));
  return device_named(memory.device);
}

}  // namespace

ViewCore import_memory(ForeignMemory const& memory, Block::KeepAlive keep_alive) {
  KeepAliveGuard taken(keep_alive);
  DType const& dtype = *memory.dtype;
  auto const address = reinterpret_cast<std::uintptr_t>(memory.data);
  StridedLayout::Span const span = memory.layout.span(dtype.itemsize);
  if (span.last != span.first) {
    if (!memory.data) throw BufferError("cannot import this memory: it has elements, and its address is NULL");
    std::uintptr_t lowest = 0;
    std::uintptr_t end = 0;
    if (__builtin_add_overflow(address, span.first, &lowest) || __builtin_add_overflow(address, span.last, &end) ||
        lowest == 0)
      throw BufferError("cannot import this memory: its strides leave the address space");
    // Alignments are powers of two: a lower bit in the address or a stride misaligns elements.
    std::uintptr_t bits = address;
    for (int d = 0; d < memory.layout.ndim(); ++d)
      if (memory.layout.extent(d) > 1) bits |= static_cast<std::uintptr_t>(memory.layout.stride(d));
    if ((bits & (dtype.alignment - 1)) != 0)
      throw BufferError("cannot import this memory: its " + std::string(dtype.name_view()) + " are not aligned to " +
                        std::to_string(dtype.alignment) + " bytes; copy it first");
  }
  // Consumers may need an address even without elements.
  alignas(64) static std::byte nothing[1];
  auto* const data = memory.data ? static_cast<std::byte*>(memory.data) : nothing;
  auto const adopt = [&] {
    Block& block = Block::adopt_exported(data + span.first, static_cast<std::size_t>(span.last - span.first),
                                         memory.device, memory.type, taken.release(), memory.writable);
    return BlockExport::counted(block, memory.writable);
  };
  if (memory.type != MemoryType::device) return {adopt(), data, dtype, memory.layout};
  DeviceMemoryPtr const device = device_of(memory, span.last != span.first ? data + span.first : nullptr);
  BlockExport own = adopt();
  BoundStream const bound_stream = bind_stream(get_legacy_stream(), device->context());
  StreamDependencies& uses = own.block().uses_on(device);
  if (memory.ready_in)
    uses.begin_after(bind_stream(memory.ready_in, device->context()), "importing memory, after the producer's stream");
  return {std::move(own), data, dtype, memory.layout, std::make_shared<ViewStream>(ViewStream{bound_stream})};
}

ViewCore import_owned(void* data, DType const& dtype, StridedLayout::Extents shape, StridedLayout::Extents strides,
                      bool writable, std::shared_ptr<void const> owner) {
  using Owner = std::shared_ptr<void const>;
  bool const dense = strides.empty();
  if (!dense && strides.size() != shape.size())
    throw BufferError("cannot import this memory: it has " + std::to_string(shape.size()) + " extents and " +
                      std::to_string(strides.size()) + " strides");
  ForeignMemory const memory(data, dtype, shape, dense ? std::nullopt : std::optional(strides), writable);
  auto kept = std::make_unique<Owner>(std::move(owner));
  return import_memory(memory, {kept.release(), [](void* owned) noexcept { delete static_cast<Owner*>(owned); }});
}

}  // namespace memarray::detail
