#include "cuda/handle_types.hpp"
#include "memory/deferred.hpp"

#include <memarray/base/errors.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/detail/memory/device_memory.hpp>
#include <memarray/driver/last_error.hpp>

#include <cstddef>
#include <string>

namespace py = pybind11;

namespace memarray::python {
namespace {

detail::DeviceMemoryPtr memory_of(DeviceId device_id) {
  detail::run_deferred();  // frees memory whose release was deferred
  return detail::DeviceMemory::of(device_id);
}

std::string name_of(DeviceId device_id) {
  detail::DeviceMemoryPtr const memory = memory_of(device_id);
  char name[256] = {};
  detail::check_driver(memory->driver().cuDeviceGetName(name, sizeof name - 1, device_id),
                       "asking for the name of a device");
  return name;
}

py::tuple memory_info(DeviceId device_id) {
  detail::DeviceMemoryPtr const memory = memory_of(device_id);
  detail::ContextScope const scope(memory->context());
  if (!scope.driver()) throw_last_error("asking for the memory of a device");
  std::size_t free = 0;
  std::size_t total = 0;
  detail::check_driver(scope.driver()->cuMemGetInfo(&free, &total), "asking for the memory of a device");
  return py::make_tuple(free, total);
}

py::dict pool_stats(DeviceId device_id) {
  detail::DeviceMemoryPtr const memory = memory_of(device_id);
  MemoryPoolStatistics now;
  if (memory->pool() && !get_statistics(memory->pool(), now)) throw_last_error("asking a memory pool");
  return to_dict(now);
}

void synchronize_device(DeviceId device_id) {
  if (!detail::synchronize(memory_of(device_id)->context())) throw_last_error("waiting for a device");
}

}  // namespace

py::dict to_dict(MemoryPoolStatistics const& statistics) {
  py::dict result;
  result["reserved_bytes"] = statistics.reserved;
  result["reserved_bytes_high"] = statistics.reserved_high;
  result["used_bytes"] = statistics.used;
  result["used_bytes_high"] = statistics.used_high;
  return result;
}

void add_cuda_functions(py::module_& m) {
  m.def("device_name", &name_of);
  m.def("device_memory_info", &memory_info);
  m.def("device_pool_stats", &pool_stats);
  m.def("synchronize_device", &synchronize_device);
  m.def("trim_device", [](DeviceId device_id) { memory_of(device_id)->trim(); });
}

}  // namespace memarray::python
