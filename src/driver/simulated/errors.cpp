#include "errors.hpp"

#include <algorithm>
#include <iterator>

#include "driver/codes.hpp"

namespace memarray::simulated {
namespace {

struct Words {
  cu::Result code;
  char const* name;
  char const* text;
};

constexpr Words known[] = {
    {code::success, "CUDA_SUCCESS", "no error"},
    {code::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {code::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {code::not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {code::invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {code::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {code::peer_access_unsupported, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {code::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {code::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {code::peer_access_already_enabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {code::context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {code::misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {code::launch_failed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {code::not_permitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {code::not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

cu::Result look_up(cu::Result error, char const* Words::* what, char const** found) noexcept {
  auto const* const words =
      std::find_if(std::begin(known), std::end(known), [&](Words const& one) { return one.code == error; });
  *found = words == std::end(known) ? nullptr : words->*what;
  return *found ? code::success : code::invalid_value;
}

}  // namespace

cu::Result name_error(cu::Result error, char const** name) noexcept { return look_up(error, &Words::name, name); }
cu::Result describe_error(cu::Result error, char const** text) noexcept { return look_up(error, &Words::text, text); }

cu::Result emulated::cuGetErrorName(Session&, cu::Result error, char const** name) { return name_error(error, name); }
cu::Result emulated::cuGetErrorString(Session&, cu::Result error, char const** text) {
  return describe_error(error, text);
}

}  // namespace memarray::simulated
