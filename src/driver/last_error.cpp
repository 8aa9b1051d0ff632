#include <memarray/base/errors.hpp>
#include <memarray/driver/driver_table.hpp>
#include <memarray/driver/last_error.hpp>

#include <string>
#include <utility>

#include "error_epoch.hpp"

namespace memarray {
namespace {

thread_local cu::Result last_error = 0;
thread_local std::uint64_t failure_count = 0;

std::string name_of(cu::Result code) {
  char const* name = nullptr;
  if (DriverTable const* const table = driver(); table && table->cuGetErrorName(code, &name) == 0 && name) return name;
  return detail::name_of_cuda_code(code);
}

std::string text_of(cu::Result code) {
  if (DriverAbsence const absence = driver_absence(); absence.code == code && absence.code != 0) return absence.why;
  char const* text = nullptr;
  if (DriverTable const* const table = driver(); table && table->cuGetErrorString(code, &text) == 0 && text)
    return text;
  return "the driver refused it";
}

}  // namespace

cu::Result get_last_error() noexcept { return std::exchange(last_error, 0); }

cu::Result peek_last_error() noexcept { return last_error; }

void clear_last_error() noexcept { last_error = 0; }

void throw_last_error(char const* what) { throw_driver_error(get_last_error(), what); }

void throw_driver_error(cu::Result code, char const* what) {
  std::string const name = name_of(code);
  std::string const message = std::string(what) + " failed: " + text_of(code) + " (" + name + ")";
  if (code == cuda_code::out_of_memory) throw OutOfMemoryError(message);
  throw CudaError(code, name, message);
}

namespace detail {

bool succeeded(cu::Result code) noexcept {
  if (code == 0) return true;
  last_error = code;
  ++failure_count;
  return false;
}

bool fail_for_null(cu::Result code) noexcept {
  if (last_error != 0) return false;
  DriverAbsence const absence = driver_absence();
  return succeeded(absence.code != 0 ? absence.code : code);
}

std::uint64_t error_epoch() noexcept { return failure_count; }

}  // namespace detail
}  // namespace memarray
