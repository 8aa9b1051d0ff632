#include <memarray/base/shape.hpp>

#include <limits>

#include <memarray/base/errors.hpp>

namespace memarray {

std::int64_t checked_size(std::span<std::int64_t const> shape) {
  std::int64_t spanned = 1;
  bool empty = false;
  for (std::int64_t const extent : shape) {
    if (extent < 0) {
      throw ValueError("shape " + shape_text(shape) + " has a negative extent; extents are 0 or more");
    }
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(spanned, extent, &spanned)) {
      throw OverflowError("shape " + shape_text(shape) + " has more elements than 64 bits can count");
    }
  }
  return empty ? 0 : spanned;
}

std::size_t checked_bytes(std::int64_t size, std::size_t itemsize) {
  std::int64_t bytes = 0;
  if (size < 0) {
    throw ValueError("a size of " + std::to_string(size) + " elements is negative");
  }
  if (__builtin_mul_overflow(size, itemsize, &bytes)) {
    throw OverflowError(std::to_string(size) + " elements of " + std::to_string(itemsize) +
                        " bytes are more bytes than 64 bits can count");
  }
  return static_cast<std::size_t>(bytes);
}

std::string shape_text(std::span<std::int64_t const> shape) {
  constexpr std::size_t most_listed = 64;
  if (shape.size() > most_listed) return "of " + std::to_string(shape.size()) + " extents";
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace memarray
