#include <memarray/base/errors.hpp>
#include <memarray/detail/launch/device_element.hpp>
#include <memarray/detail/launch/launch_device.hpp>
#include <memarray/kernel/operations.hpp>
#include <memarray/kernel/sum.hpp>

#include <cub/device/device_reduce.cuh>

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

namespace memarray::detail {
namespace {

template <class To>
struct Widen {
  template <class From>
  __host__ __device__ To operator()(From const& value) const {
    if constexpr (requires { static_cast<To>(value); })
      return static_cast<To>(value);
    else
      return static_cast<To>(static_cast<float>(value));
  }
};

template <class T>
void sum_of(std::int64_t size, void const* source, void* result, DeviceRun& run) {
  using Sum = DeviceElement<typename SumOf<T>::type>;
  auto const* const elements = static_cast<DeviceElement<T> const*>(source);
  std::byte* const total = run.scratch(sizeof(Sum));
  run_cub(run, [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceReduce::TransformReduce(scratch, bytes, elements, reinterpret_cast<Sum*>(total), size, plus{},
                                              Widen<Sum>{}, Sum{}, *run.bound_stream().stream);
  });
  run.read_back({{result, total, sizeof(Sum)}});
}

}  // namespace

void sum_on_device(DType const& dtype, std::int64_t size, void const* source, void* result, DeviceRun& run) {
#define MEMARRAY_RUN_IF(type, name, code, bits) \
  if (dtype == dtype_of<type>()) return sum_of<type>(size, source, result, run);
  MEMARRAY_FOR_EACH_DTYPE(MEMARRAY_RUN_IF)
#undef MEMARRAY_RUN_IF
  throw UnsupportedTypeError("sum is not compiled for " + std::string(dtype.name_view()));
}

}  // namespace memarray::detail
