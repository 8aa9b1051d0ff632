#include <memarray/driver/driver_functions.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string_view>

#if __has_include(<cudaTypedefs.h>)
#include <cudaTypedefs.h>
#define MEMARRAY_HAS_CUDA_HEADERS 1
#endif

namespace memarray::test {
namespace {

TEST(DriverFunctionsTest, EachFunctionIsListedOnceWithAVersion) {
  std::set<std::string_view> names;
#define MEMARRAY_ONCE(name, version, parameters)    \
  EXPECT_TRUE(names.insert(#name).second) << #name; \
  EXPECT_GE(version, 2000) << #name;
  MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_ONCE)
#undef MEMARRAY_ONCE
  for (std::string_view const name : names) {
    EXPECT_EQ(name.substr(0, 2), "cu");
    EXPECT_EQ(name.find("_v"), std::string_view::npos) << name << ": names have no suffix";
  }
}

#if defined(MEMARRAY_HAS_CUDA_HEADERS)

template <class Function>
constexpr std::size_t arity = 0;
template <class Result, class... Parameters>
constexpr std::size_t arity<Result (*)(Parameters...)> = sizeof...(Parameters);

// The driver's own header has a type for each version of a function.
#define MEMARRAY_SAME_FORM(name, version, parameters) \
  static_assert(arity<PFN_##name##_v##version> == arity<cu::Result(*) parameters>, #name);
MEMARRAY_FOR_EACH_DRIVER_FUNCTION(MEMARRAY_SAME_FORM)
#undef MEMARRAY_SAME_FORM

static_assert(sizeof(cu::MemoryPoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(cu::MemoryPoolProperties, location_id) == offsetof(CUmemPoolProps, location.id));
static_assert(offsetof(cu::MemoryPoolProperties, max_size) == offsetof(CUmemPoolProps, maxSize));
static_assert(offsetof(cu::MemoryPoolProperties, reserved) == offsetof(CUmemPoolProps, reserved));
static_assert(sizeof(cu::MemoryAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(cu::MemoryAccess, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(cu::DevicePtr) == sizeof(CUdeviceptr) && sizeof(cu::Device) == sizeof(CUdevice));

TEST(DriverFunctionsTest, DefaultsMatchTheDriversEnumerators) {
  cu::MemoryPoolProperties const pool;
  EXPECT_EQ(pool.allocation_type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(pool.location_type, CU_MEM_LOCATION_TYPE_DEVICE);
  cu::MemoryAccess const access;
  EXPECT_EQ(access.location_type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(access.flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

#endif

}  // namespace
}  // namespace memarray::test
