// A CUDA driver without functionality, whose failures the environment selects. FAKE_DRIVER_LACKS names a missing
// function, FAKE_DRIVER_INIT is the result of cuInit, FAKE_DRIVER_DEVICES the number of devices. Built as libcuda.so.1,
// for programs started with its folder in LD_LIBRARY_PATH.
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

int number(char const* name) {
  char const* const text = std::getenv(name);
  return text ? std::atoi(text) : 0;
}

int init(unsigned) { return number("FAKE_DRIVER_INIT"); }

int count_devices(int* count) {
  *count = number("FAKE_DRIVER_DEVICES");
  return 0;
}

int get_device(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= number("FAKE_DRIVER_DEVICES")) return 101;
  *device = ordinal;
  return 0;
}

int name_error(int, char const** name) {
  *name = "CUDA_ERROR_OF_THE_FAKE_DRIVER";
  return 0;
}

int nothing() { return 0; }

}  // namespace

extern "C" __attribute__((visibility("default"))) int cuGetProcAddress_v2(char const* name, void** function, int,
                                                                          std::uint64_t, void*) {
  char const* const lacks = std::getenv("FAKE_DRIVER_LACKS");
  if (lacks && std::strcmp(lacks, name) == 0) return 500;
  if (std::strcmp(name, "cuInit") == 0)
    *function = reinterpret_cast<void*>(&init);
  else if (std::strcmp(name, "cuDeviceGetCount") == 0)
    *function = reinterpret_cast<void*>(&count_devices);
  else if (std::strcmp(name, "cuDeviceGet") == 0)
    *function = reinterpret_cast<void*>(&get_device);
  else if (std::strcmp(name, "cuGetErrorName") == 0 || std::strcmp(name, "cuGetErrorString") == 0)
    *function = reinterpret_cast<void*>(&name_error);
  else
    *function = reinterpret_cast<void*>(&nothing);
  return 0;
}
