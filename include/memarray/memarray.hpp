#pragma once

// The one include: arrays, leases, kernels, and the names of dlpack.h (kDLCPU, …).

#include <memarray/array/access.hpp>
#include <memarray/array/add_index_tuple.hpp>
#include <memarray/array/array_indexer.hpp>
#include <memarray/array/atomic_add.hpp>
#include <memarray/array/dlpack_tensor.hpp>
#include <memarray/array/exclusive_scan.hpp>
#include <memarray/array/for_each_index.hpp>
#include <memarray/array/lease.hpp>
#include <memarray/array/leases.hpp>
#include <memarray/array/mem_array.hpp>
#include <memarray/array/shared_memory.hpp>
#include <memarray/array/sum.hpp>
#include <memarray/base/cuda_complex.hpp>
#include <memarray/base/device.hpp>
#include <memarray/base/dtype.hpp>
#include <memarray/base/errors.hpp>
#include <memarray/base/float16.hpp>
#include <memarray/base/hooks.hpp>
#include <memarray/base/options.hpp>
#include <memarray/base/struct_fields.hpp>
#include <memarray/memory/default_resource.hpp>
#include <memarray/memory/resource.hpp>
#include <memarray/resource/stream_handle.hpp>
#include <memarray/version.hpp>
