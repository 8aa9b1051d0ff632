#include <memarray/base/device.hpp>
#include <memarray/base/errors.hpp>

#include <charconv>

namespace memarray {

std::string to_string(Device device) {
  switch (device.type) {
    case kDLCPU: return "cpu";
    case kDLCUDA: return "cuda:" + std::to_string(device.id);
    case kDLCUDAHost: return "cuda_host";
    case kDLCUDAManaged: return "cuda_managed:" + std::to_string(device.id);
    default: return "device type " + std::to_string(static_cast<int>(device.type)) + ":" + std::to_string(device.id);
  }
}

Device device_from_string(std::string const& word) {
  if (word == "cpu") return {};
  if (word == "cuda") return {kDLCUDA, 0};
  if (word.starts_with("cuda:")) {
    int id = 0;
    char const* const end = word.data() + word.size();
    auto const [rest, error] = std::from_chars(word.data() + 5, end, id);
    if (error == std::errc{} && rest == end && id >= 0) return {kDLCUDA, id};
  }
  detail::throw_no_device_named(word, "'" + word + "'");
}

Device detail::checked_device(Device device, char const* what) {
  if (device.type != kDLCPU && device.type != kDLCUDA)
    throw ValueError(std::string(what) + ": memory lives on the CPU (kDLCPU) or on a CUDA device (kDLCUDA), not on " +
                     to_string(device));
  if (device.id < 0) throw ValueError("device_id is " + std::to_string(device.id) + "; device ids start at 0");
  return device.is_cpu() ? Device() : device;
}

void detail::throw_no_device_named(std::string_view word, std::string const& shown) {
  bool const is_number =
      word.starts_with("cuda:") && word.size() > 5 && word.find_first_not_of("0123456789", 5) == std::string_view::npos;
  if (is_number) throw ValueError("there is no such device: " + shown + " (device numbers are at most 2147483647)");
  throw ValueError("a device is written 'cpu', 'cuda' or 'cuda:<number>', not " + shown);
}

}  // namespace memarray
