#include "failure.hpp"

#include <memarray/interop/c_api.h>
#include <memarray/base/errors.hpp>
#include <memarray/driver/last_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "base/error_list.hpp"
#include "driver/error_epoch.hpp"

namespace memarray::detail {
namespace {

template <std::size_t size>
void assign(char (&target)[size], std::string_view text) noexcept {
  std::size_t const length = std::min(text.size(), size - 1);
  text.copy(target, length);
  target[length] = '\0';
}

/// A thread's last failure. On the heap: a library loaded late may get little thread-local storage.
struct Words {
  std::uint64_t failure;
  int code;
  char name[48];  // the driver's name of its code
  char text[1200];
};
constinit thread_local std::unique_ptr<Words> last_words;

void remember(int code, std::string_view text, std::string_view name = {}) noexcept {
  record_error(code);
  if (!last_words) last_words.reset(new (std::nothrow) Words);
  if (!last_words) return;
  last_words->failure = error_epoch();
  last_words->code = code;
  assign(last_words->name, name);
  assign(last_words->text, text);
}

}  // namespace

void remember_current() noexcept {
  try {
    throw;
#define MEMARRAY_REMEMBER(type, code) \
  }                                   \
  catch (type const& error) {         \
    remember(MEMARRAY_##code, error.what());
    MEMARRAY_FOR_EACH_ERROR(MEMARRAY_REMEMBER)
#undef MEMARRAY_REMEMBER
  } catch (CudaError const& error) {
    remember(error.code(), error.what(), error.name());
  } catch (std::bad_alloc const&) {
    record_error(cuda_code::out_of_memory);
  } catch (std::exception const& error) {
    remember(MEMARRAY_ERROR, error.what());
  } catch (...) {
    remember(MEMARRAY_ERROR, "an exception of unknown type");
  }
}

void throw_failure(int code, char const* what) {
  bool const has_words = last_words && last_words->code == code && last_words->failure == error_epoch();
  if (!has_words && code > 0) throw_driver_error(code, what);
  std::string const message = std::string(what) + " failed" + (has_words ? std::string(": ") + last_words->text : "");
  switch (code) {
#define MEMARRAY_THROW(type, suffix) \
  case MEMARRAY_##suffix: throw type(message);
    MEMARRAY_FOR_EACH_ERROR(MEMARRAY_THROW)
#undef MEMARRAY_THROW
    case cuda_code::out_of_memory: throw OutOfMemoryError(message);
    default:
      if (code > 0) throw CudaError(code, has_words ? last_words->name : "", message);
      throw Error(message);
  }
}

}  // namespace memarray::detail
