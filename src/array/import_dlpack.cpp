#include <memarray/array/import_dlpack.hpp>
#include <memarray/base/errors.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

namespace memarray::detail {
namespace {

/// Lets go of what was taken over unless somebody else keeps it by then.
class Taken {
 public:
  explicit Taken(Block::Keeper keeper) noexcept : _keeper(keeper) {}
  ~Taken() {
    if (_keeper.drop) _keeper.drop(_keeper.object);
  }
  Taken(Taken const&) = delete;
  Taken& operator=(Taken const&) = delete;
  [[nodiscard]] Block::Keeper hand_over() noexcept { return std::exchange(_keeper, {}); }

 private:
  Block::Keeper _keeper;
};

[[noreturn]] void refuse(std::string const& why) { throw BufferError("cannot import this DLPack tensor: " + why); }

struct Place {
  Device device;
  MemoryType type;
};

Place place_of(DLDevice device) {
  if (device.device_id < 0) refuse("its device id is " + std::to_string(device.device_id));
  switch (device.device_type) {
    // CPUs are one place, whatever numbers some library gives them.
    case kDLCPU: return {Device{}, MemoryType::normal};
    case kDLCUDAHost: return {Device{}, MemoryType::pinned};
    case kDLCUDAManaged: return {Device{}, MemoryType::unified};
    case kDLCUDA:
      refuse("its memory is on cuda:" + std::to_string(device.device_id) +
             ", where views do not reach; copy it to the host first, or ask for dl_device=(1, 0)");
    default: refuse("its device type, " + std::to_string(device.device_type) + ", is none that memarray knows");
  }
}

DType const& dtype_of(DLDataType type) {
  DType const* const found = type.lanes == 1 ? find_dtype(type) : nullptr;
  if (!found)
    refuse("memarray has no dtype with code " + std::to_string(type.code) + ", " + std::to_string(type.bits) +
           " bits and " + std::to_string(type.lanes) + " lanes");
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
  // Of no elements nobody asks for the strides.
  bool const empty = std::ranges::find(shape, 0) != shape.end();
  std::array<std::int64_t, StridedLayout::max_ndim> strides{};
  for (std::size_t d = 0; d < ndim; ++d)
    if (!empty && shape[d] > 1 &&
        __builtin_mul_overflow(tensor.strides[d], static_cast<std::int64_t>(itemsize), &strides[d]))
      refuse("its stride " + std::to_string(tensor.strides[d]) + " is more than 64 bits of bytes");
  return import_layout(shape, StridedLayout::Extents(strides.data(), ndim), itemsize);
}

void* data_of(DLTensor const& tensor) {
  auto const base = reinterpret_cast<std::uintptr_t>(tensor.data);
  std::uintptr_t address = 0;
  if (__builtin_add_overflow(base, tensor.byte_offset, &address))
    refuse("its byte offset, " + std::to_string(tensor.byte_offset) + ", leads out of memory");
  return tensor.data ? reinterpret_cast<void*>(address) : nullptr;  // NOLINT(performance-no-int-to-ptr)
}

template <class Managed>
Block::Keeper keeper_of(Managed* tensor) noexcept {
  return {tensor, [](void* object) noexcept {
            auto* const managed = static_cast<Managed*>(object);
            if (managed->deleter) managed->deleter(managed);
          }};
}

template <class Managed>
ViewCore import_tensor(Managed* managed, bool writable) {
  Taken taken(keeper_of(managed));
  DLTensor const& tensor = managed->dl_tensor;
  DType const& dtype = dtype_of(tensor.dtype);
  Place const place = place_of(tensor.device);
  ForeignMemory const memory{data_of(tensor), place.device, place.type, &dtype, layout_of(tensor, dtype.itemsize),
                             writable};
  return import_memory(memory, taken.hand_over());
}

}  // namespace

ViewCore import_dlpack(DLManagedTensorVersioned* tensor) {
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    Taken const taken(keeper_of(tensor));
    refuse("its version is " + std::to_string(tensor->version.major) + "." + std::to_string(tensor->version.minor) +
           ", and this library reads " + std::to_string(DLPACK_MAJOR_VERSION) + ".x");
  }
  return import_tensor(tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0);
}

ViewCore import_dlpack(DLManagedTensor* tensor) { return import_tensor(tensor, true); }

StridedLayout import_layout(StridedLayout::Extents shape, std::optional<StridedLayout::Extents> strides,
                            std::size_t itemsize) {
  std::string why;
  try {
    return strides ? StridedLayout::strided(shape, *strides, itemsize) : StridedLayout::dense(shape, itemsize);
  } catch (ValueError const& error) {
    why = error.what();
  } catch (OverflowError const& error) {
    why = error.what();
  }
  throw BufferError("cannot import this memory: " + why);
}

ViewCore import_memory(ForeignMemory const& memory, Block::Keeper keeper) {
  Taken taken(keeper);
  DType const& dtype = *memory.dtype;
  auto const address = reinterpret_cast<std::uintptr_t>(memory.data);
  StridedLayout::Span const span = memory.layout.span(dtype.itemsize);
  if (span.last != span.first) {
    if (!memory.data) throw BufferError("cannot import this memory: it has elements, and its address is NULL");
    // Both ends are addresses.
    std::uintptr_t lowest = 0;
    std::uintptr_t end = 0;
    if (__builtin_add_overflow(address, span.first, &lowest) || __builtin_add_overflow(address, span.last, &end) ||
        lowest == 0)
      throw BufferError("cannot import this memory: its strides lead out of memory");
    bool aligned = address % dtype.alignment == 0;
    for (int d = 0; d < memory.layout.ndim(); ++d)
      aligned = aligned && (memory.layout.extent(d) <= 1 || memory.layout.stride(d) % dtype.alignment == 0);
    if (!aligned)
      throw BufferError("cannot import this memory: its " + std::string(dtype.name_view()) + " are not aligned to " +
                        std::to_string(dtype.alignment) + " bytes; copy it first");
  }
  // Of no elements: consumers may still ask for an address.
  alignas(64) static std::byte nothing[1];
  auto* const data = memory.data ? static_cast<std::byte*>(memory.data) : nothing;
  BlockPtr const block = Block::adopt(data + span.first, static_cast<std::size_t>(span.last - span.first),
                                      memory.device, memory.type, taken.hand_over());
  return {BlockExport(*block, memory.writable), data, dtype, memory.layout};
}

}  // namespace memarray::detail
