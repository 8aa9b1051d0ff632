#include "errors.hpp"

#include "driver/codes.hpp"

namespace memarray::simulated {
namespace {

cu::Result give(char const* words, char const** found) noexcept {
  *found = words;
  return words ? code::success : code::invalid_value;
}

}  // namespace

cu::Result name_error(cu::Result error, char const** name) noexcept { return give(code::words_of(error).name, name); }
cu::Result describe_error(cu::Result error, char const** text) noexcept {
  return give(code::words_of(error).text, text);
}

cu::Result emulated::cuGetErrorName(Session&, cu::Result error, char const** name) { return name_error(error, name); }
cu::Result emulated::cuGetErrorString(Session&, cu::Result error, char const** text) {
  return describe_error(error, text);
}

}  // namespace memarray::simulated
