#include <memarray/base/errors.hpp>
#include <memarray/detail/kernel/initial_value.hpp>

namespace memarray::detail {

void throw_initial_value_changes(std::string const& value, bool is_signed, std::size_t bits) {
  throw ValueError("the initial value " + value + " is outside the range of the result, an " +
                   (is_signed ? "integer of " : "unsigned integer of ") + std::to_string(bits) + " bits");
}

}  // namespace memarray::detail
