#include <memarray/base/cuda_code.hpp>

namespace memarray::detail {

CudaCodeWords words_of_cuda_code(int code) noexcept {
  switch (code) {
#define MEMARRAY_CASE(constant, number, name, text) \
  case number: return {name, text};
    MEMARRAY_FOR_EACH_CUDA_CODE(MEMARRAY_CASE)
#undef MEMARRAY_CASE
    default: return {nullptr, nullptr};
  }
}

std::string name_of_cuda_code(int code) {
  char const* const known = words_of_cuda_code(code).name;
  return known ? known : "CUDA_ERROR_" + std::to_string(code);
}

}  // namespace memarray::detail
