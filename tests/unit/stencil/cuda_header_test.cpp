// Checks src/stencil/cuda/driver.hpp against CUDA's own header: member sizes and offsets, constants, and the
// number and sizes of each function's arguments.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#include "stencil/cuda/driver.hpp"

namespace terrace::stencil::cuda {
namespace {

template <class Ours, class Theirs>
struct IsAlike : std::false_type {};
template <class R, class... A, class S, class... B>
requires(sizeof...(A) == sizeof...(B)) struct IsAlike<R (*)(A...), S (*)(B...)>
    : std::bool_constant<sizeof(R) == sizeof(S) &&
                         ((sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>)&&...)> {
};
template <class Ours, class Theirs>
constexpr bool is_alike(Ours Driver::* /*ours*/, Theirs /*theirs*/) {
  return IsAlike<Ours, Theirs>::value;
}

TEST(CudaHeader, Functions_MatchDriverDeclarations) {
  EXPECT_TRUE(is_alike(&Driver::init, &cuInit));
  EXPECT_TRUE(is_alike(&Driver::error_string, &cuGetErrorString));
  EXPECT_TRUE(is_alike(&Driver::device_count, &cuDeviceGetCount));
  EXPECT_TRUE(is_alike(&Driver::device, &cuDeviceGet));
  EXPECT_TRUE(is_alike(&Driver::device_attribute, &cuDeviceGetAttribute));
  EXPECT_TRUE(is_alike(&Driver::retain_context, &cuDevicePrimaryCtxRetain));
  EXPECT_TRUE(is_alike(&Driver::release_context, &cuDevicePrimaryCtxRelease));
  EXPECT_TRUE(is_alike(&Driver::set_context, &cuCtxSetCurrent));
  EXPECT_TRUE(is_alike(&Driver::allocation_granularity, &cuMemGetAllocationGranularity));
  EXPECT_TRUE(is_alike(&Driver::reserve, &cuMemAddressReserve));
  EXPECT_TRUE(is_alike(&Driver::free_addresses, &cuMemAddressFree));
  EXPECT_TRUE(is_alike(&Driver::create, &cuMemCreate));
  EXPECT_TRUE(is_alike(&Driver::release, &cuMemRelease));
  EXPECT_TRUE(is_alike(&Driver::map, &cuMemMap));
  EXPECT_TRUE(is_alike(&Driver::unmap, &cuMemUnmap));
  EXPECT_TRUE(is_alike(&Driver::set_access, &cuMemSetAccess));
  EXPECT_TRUE(is_alike(&Driver::allocate, &cuMemAlloc));
  EXPECT_TRUE(is_alike(&Driver::free, &cuMemFree));
  EXPECT_TRUE(is_alike(&Driver::allocate_host, &cuMemHostAlloc));
  EXPECT_TRUE(is_alike(&Driver::free_host, &cuMemFreeHost));
  EXPECT_TRUE(is_alike(&Driver::create_stream, &cuStreamCreate));
  EXPECT_TRUE(is_alike(&Driver::destroy_stream, &cuStreamDestroy));
  EXPECT_TRUE(is_alike(&Driver::synchronize_stream, &cuStreamSynchronize));
  EXPECT_TRUE(is_alike(&Driver::create_event, &cuEventCreate));
  EXPECT_TRUE(is_alike(&Driver::destroy_event, &cuEventDestroy));
  EXPECT_TRUE(is_alike(&Driver::record_event, &cuEventRecord));
  EXPECT_TRUE(is_alike(&Driver::synchronize_event, &cuEventSynchronize));
  EXPECT_TRUE(is_alike(&Driver::copy_to_device, &cuMemcpyHtoDAsync));
  EXPECT_TRUE(is_alike(&Driver::copy_to_host, &cuMemcpyDtoHAsync));
  EXPECT_TRUE(is_alike(&Driver::fill, &cuMemsetD8Async));
}

TEST(CudaHeader, LayoutsAndConstants_MatchDriverDeclarations) {
  EXPECT_EQ(sizeof(Location), sizeof(CUmemLocation));
  EXPECT_EQ(offsetof(Location, device), offsetof(CUmemLocation, id));
  EXPECT_EQ(sizeof(Allocation), sizeof(CUmemAllocationProp));
  EXPECT_EQ(offsetof(Allocation, location), offsetof(CUmemAllocationProp, location));
  EXPECT_EQ(offsetof(Allocation, windows), offsetof(CUmemAllocationProp, win32HandleMetaData));
  EXPECT_EQ(offsetof(Allocation, usage), offsetof(CUmemAllocationProp, allocFlags.usage));
  EXPECT_EQ(sizeof(AccessDescriptor), sizeof(CUmemAccessDesc));
  EXPECT_EQ(offsetof(AccessDescriptor, flags), offsetof(CUmemAccessDesc, flags));
  EXPECT_EQ(sizeof(Handle), sizeof(CUmemGenericAllocationHandle));
  EXPECT_EQ(k_success, int{CUDA_SUCCESS});
  EXPECT_EQ(k_has_virtual_memory, int{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED});
  EXPECT_EQ(k_on_device, int{CU_MEM_LOCATION_TYPE_DEVICE});
  EXPECT_EQ(k_pinned, int{CU_MEM_ALLOCATION_TYPE_PINNED});
  EXPECT_EQ(k_read_write, int{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  EXPECT_EQ(k_portable, unsigned{CU_MEMHOSTALLOC_PORTABLE});
  EXPECT_EQ(k_non_blocking, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(k_sleep_no_time, unsigned{CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING});
}

}  // namespace
}  // namespace terrace::stencil::cuda
