#include "emulate_error_names.hpp"

#include <memarray/base/cuda_code.hpp>

namespace memarray::simulated {
namespace {

cu::Result give(char const* words, char const** found) noexcept {
  *found = words;
  return words ? cuda_code::success : cuda_code::invalid_value;
}

}  // namespace

cu::Result name_error(cu::Result error, char const** name) noexcept {
  return give(detail::words_of_cuda_code(error).name, name);
}
cu::Result describe_error(cu::Result error, char const** text) noexcept {
  return give(detail::words_of_cuda_code(error).text, text);
}

cu::Result emulated::cuGetErrorName(Session&, cu::Result error, char const** name) { return name_error(error, name); }
cu::Result emulated::cuGetErrorString(Session&, cu::Result error, char const** text) {
  return describe_error(error, text);
}

}  // namespace memarray::simulated
