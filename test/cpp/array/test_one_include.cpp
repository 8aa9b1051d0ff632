// <memarray/memarray.hpp> alone provides every base, resource, memory and array name that docs/reference/cpp.rst shows.
// test/architecture/test_one_include.py compares the list with the page.
#include <memarray/memarray.hpp>

#include <gtest/gtest.h>

#ifndef MEMARRAY_FOR_EACH_DTYPE
#error "MEMARRAY_FOR_EACH_DTYPE is missing"
#endif
#ifndef MEMARRAY_DTYPE
#error "MEMARRAY_DTYPE is missing"
#endif
#ifndef MEMARRAY_BUNDLE
#error "MEMARRAY_BUNDLE is missing"
#endif
#ifndef MEMARRAY_HD
#error "MEMARRAY_HD is missing"
#endif
#ifndef MEMARRAY_FIELDS
#error "MEMARRAY_FIELDS is missing"
#endif
#ifndef MEMARRAY_FOR_EACH_CUDA_CODE
#error "MEMARRAY_FOR_EACH_CUDA_CODE is missing"
#endif
#ifndef MEMARRAY_FOR_EACH_DRIVER_FUNCTION
#error "MEMARRAY_FOR_EACH_DRIVER_FUNCTION is missing"
#endif

namespace one_include {

using memarray::add_index_tuple;
using memarray::allocate_device;
using memarray::allocate_from_pool;
using memarray::allocate_managed;
using memarray::allocate_pinned;
using memarray::argmax;
using memarray::argmin;
using memarray::ArrayIndexer;
using memarray::ArrayOptions;
using memarray::ArrayView;
using memarray::as_cu;
using memarray::as_intptr;
using memarray::atomic_add;
using memarray::attach_shared;
using memarray::BasicBufferView;
using memarray::BasicFloat16;
using memarray::bfloat16;
using memarray::BufferError;
using memarray::BufferView;
using memarray::build_info;
using memarray::BuildFact;
using memarray::c_strides;
using memarray::call_aside;
using memarray::checked_bytes;
using memarray::checked_size;
using memarray::clear_last_error;
using memarray::ConstBufferView;
using memarray::ConstIndexer;
using memarray::context_of;
using memarray::ContextHandle;
using memarray::Counters;
using memarray::counters;
using memarray::create_context_handle;
using memarray::create_context_handle_ref;
using memarray::create_context_handle_with_owner;
using memarray::create_device_ptr_handle_ref;
using memarray::create_event_handle;
using memarray::create_event_handle_ref;
using memarray::create_event_handle_with_owner;
using memarray::create_memory_pool_handle;
using memarray::create_memory_pool_handle_ref;
using memarray::create_shared;
using memarray::create_stream_handle;
using memarray::create_stream_handle_ref;
using memarray::create_stream_handle_with_owner;
using memarray::CudaError;
using memarray::deallocation_stream;
using memarray::Death;
using memarray::default_alignment;
using memarray::default_stream;
using memarray::DelayingAdaptor;
using memarray::Device;
using memarray::device_count;
using memarray::device_from_string;
using memarray::device_id_of;
using memarray::DevicePtrHandle;
using memarray::DLPackTensor;
using memarray::dot;
using memarray::driver;
using memarray::driver_absence;
using memarray::driver_of;
using memarray::DriverAbsence;
using memarray::DriverResource;
using memarray::DriverTable;
using memarray::DType;
using memarray::dtype_of;
using memarray::dtype_traits;
using memarray::elapsed;
using memarray::Element;
using memarray::EnteredContext;
using memarray::Error;
using memarray::escaped_views_from_string;
using memarray::EscapedViews;
using memarray::EventHandle;
using memarray::exclusive_scan;
using memarray::FailingAdaptor;
using memarray::field_itemsize;
using memarray::find_dtype;
using memarray::float16;
using memarray::for_each_index;
using memarray::free_after;
using memarray::get_current_context;
using memarray::get_device_memory_pool;
using memarray::get_last_error;
using memarray::get_legacy_stream;
using memarray::get_per_thread_stream;
using memarray::get_primary_context;
using memarray::get_statistics;
using memarray::has_timing;
using memarray::Held;
using memarray::hold;
using memarray::Hooks;
using memarray::host_memory_statistics;
using memarray::host_resource;
using memarray::includes;
using memarray::inclusive_scan;
using memarray::Index;
using memarray::Indexer;
using memarray::IndexError;
using memarray::interior;
using memarray::intern_struct;
using memarray::Interrupted;
using memarray::IntrusivePtr;
using memarray::is_host_accessible;
using memarray::is_lost;
using memarray::IsMemoryResource;
using memarray::KeepAlive;
using memarray::launch;
using memarray::LeaseOptions;
using memarray::leases;
using memarray::LimitingAdaptor;
using memarray::ListOf;
using memarray::live_memory;
using memarray::LiveMemory;
using memarray::LockError;
using memarray::logical_and;
using memarray::logical_or;
using memarray::max;
using memarray::maximum;
using memarray::MemArray;
using memarray::MemoryPoolHandle;
using memarray::MemoryPoolOptions;
using memarray::MemoryPoolStatistics;
using memarray::MemoryResource;
using memarray::MemoryType;
using memarray::min;
using memarray::minimum;
using memarray::minmax;
using memarray::Options;
using memarray::options;
using memarray::OutOfMemoryError;
using memarray::OverflowError;
using memarray::overwrite;
using memarray::PageableResource;
using memarray::parallel_chunks;
using memarray::parallel_for;
using memarray::peek_last_error;
using memarray::plus;
using memarray::PoolingAdaptor;
using memarray::query;
using memarray::Range;
using memarray::range;
using memarray::read;
using memarray::ReadLease;
using memarray::record;
using memarray::recover;
using memarray::reduce;
using memarray::Report;
using memarray::report_copy;
using memarray::report_death;
using memarray::report_wait;
using memarray::reports_pending;
using memarray::require_abi;
using memarray::require_library;
using memarray::require_matching_library;
using memarray::RuntimeRelease;
using memarray::set_deallocation_stream;
using memarray::set_hooks;
using memarray::set_release_threshold;
using memarray::shape_text;
using memarray::shared_bytes;
using memarray::SharedMemory;
using memarray::shipped_dtypes;
using memarray::Slice;
using memarray::sort_by_key;
using memarray::StandardLibrary;
using memarray::StatisticsAdaptor;
using memarray::StreamChoice;
using memarray::StreamHandle;
using memarray::StreamOrLaunch;
using memarray::StridedIndexer;
using memarray::StridedLayout;
using memarray::StructField;
using memarray::StructFields;
using memarray::sum;
using memarray::synchronize;
using memarray::synchronize_all;
using memarray::take_reports;
using memarray::threads;
using memarray::throw_driver_error;
using memarray::throw_last_error;
using memarray::Timeout;
using memarray::to_string;
using memarray::transform_reduce;
using memarray::transform_reduce_into;
using memarray::trim;
using memarray::TypedLease;
using memarray::TypeError;
using memarray::UnsupportedTypeError;
using memarray::update;
using memarray::ValueError;
using memarray::ViewOptions;
using memarray::wait;
using memarray::write;
using memarray::WriteLease;
using memarray::ZeroingResource;
using memarray::cu::MemoryAccess;
using memarray::cu::MemoryPoolProperties;
using memarray::cu::Result;
using memarray::testing::LiveResources;
using memarray::testing::SimulatedDevices;
using memarray::testing::SimulatedOptions;

TEST(OneIncludeTest, ProgramNeedsNoOtherInclude) {
  SimulatedDevices const devices;
  static_cast<void>(take_reports());
  MemArray<float, 1> a({4}, 0, {.resource = MemoryResource(StatisticsAdaptor(host_resource()))});
  MemArray<double, 1> b({4});
  b.fill(2.5);
  a.copy_from(b.view());
  EXPECT_EQ(sum(a, default_stream()), 10);
  EXPECT_EQ(a.size(), 4);
  EXPECT_THROW(a.resize({-1}), ValueError);
  EXPECT_NE(create_stream_handle(get_primary_context(0)), nullptr);
  a.move_memory(kDLCUDA, 0, 0);
  EXPECT_EQ(take_reports().size(), 1U);
}

}  // namespace one_include
