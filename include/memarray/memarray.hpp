#pragma once

// The one include: arrays, leases, views, kernels, memory resources and handles of the driver's, errors and reports,
// and the names of dlpack.h (kDLCPU, …). All of base, resource, memory and array that docs/reference/cpp.rst shows.

#include <memarray/array/access.hpp>
#include <memarray/array/add_index_tuple.hpp>
#include <memarray/array/adopt.hpp>
#include <memarray/array/array_indexer.hpp>
#include <memarray/array/array_view.hpp>
#include <memarray/array/atomic_add.hpp>
#include <memarray/array/buffer_view.hpp>
#include <memarray/array/dlpack_tensor.hpp>
#include <memarray/array/exclusive_scan.hpp>
#include <memarray/array/for_each_index.hpp>
#include <memarray/array/lease.hpp>
#include <memarray/array/leases.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/array/shared_memory.hpp>
#include <memarray/array/sum.hpp>
#include <memarray/base/build_info.hpp>
#include <memarray/base/cuda_complex.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/float16.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/base/live_memory.hpp>
#include <memarray/base/options.hpp>
#include <memarray/base/reports.hpp>
#include <memarray/memory/default_resource.hpp>
#include <memarray/memory/delaying_adaptor.hpp>
#include <memarray/memory/driver_resource.hpp>
#include <memarray/memory/failing_adaptor.hpp>
#include <memarray/memory/limiting_adaptor.hpp>
#include <memarray/memory/pageable_resource.hpp>
#include <memarray/memory/pooling_adaptor.hpp>
#include <memarray/memory/resource.hpp>
#include <memarray/memory/statistics_adaptor.hpp>
#include <memarray/resource/context_handle.hpp>
#include <memarray/resource/device_ptr_handle.hpp>
#include <memarray/resource/event_handle.hpp>
#include <memarray/resource/last_error.hpp>
#include <memarray/resource/memory_pool_handle.hpp>
#include <memarray/resource/simulated_devices.hpp>
#include <memarray/resource/stream_handle.hpp>
#include <memarray/resource/stream_order.hpp>
#include <memarray/version.hpp>
