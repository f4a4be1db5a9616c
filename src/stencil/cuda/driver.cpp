// SPDX-License-Identifier: Apache-2.0
// Loads libcuda.so.1 and looks its functions up by name; translates the driver's error numbers to text. Used by
// Device when the executor `gpu` is created.
#include "stencil/cuda/driver.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace terrace::stencil::cuda {
namespace {

constexpr auto k_library = "libcuda.so.1";

template <class Function>
void load(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw Error(Code::unsupported, std::string("executor=gpu needs a newer CUDA driver: ") + k_library +
                                       " has no " + name + ": update the driver, or choose another executor");
}

}  // namespace

Driver::Driver() : library_(dlopen(k_library, RTLD_NOW | RTLD_LOCAL)) {
  if (!library_)
    throw Error(Code::unsupported, std::string("executor=gpu needs a GPU and CUDA's driver: no ") + k_library +
                                       " can be loaded here: install the driver, or choose another executor");
  try {
    load(library_, init, "cuInit");
    load(library_, error_string, "cuGetErrorString");
    load(library_, device_count, "cuDeviceGetCount");
    load(library_, device, "cuDeviceGet");
    load(library_, device_attribute, "cuDeviceGetAttribute");
    load(library_, retain_context, "cuDevicePrimaryCtxRetain");
    load(library_, release_context, "cuDevicePrimaryCtxRelease_v2");
    load(library_, set_context, "cuCtxSetCurrent");
    load(library_, allocation_granularity, "cuMemGetAllocationGranularity");
    load(library_, reserve, "cuMemAddressReserve");
    load(library_, free_addresses, "cuMemAddressFree");
    load(library_, create, "cuMemCreate");
    load(library_, release, "cuMemRelease");
    load(library_, map, "cuMemMap");
    load(library_, unmap, "cuMemUnmap");
    load(library_, set_access, "cuMemSetAccess");
    load(library_, allocate, "cuMemAlloc_v2");
    load(library_, free, "cuMemFree_v2");
    load(library_, allocate_host, "cuMemHostAlloc");
    load(library_, free_host, "cuMemFreeHost");
    load(library_, create_stream, "cuStreamCreate");
    load(library_, destroy_stream, "cuStreamDestroy_v2");
    load(library_, synchronize_stream, "cuStreamSynchronize");
    load(library_, create_event, "cuEventCreate");
    load(library_, destroy_event, "cuEventDestroy_v2");
    load(library_, record_event, "cuEventRecord");
    load(library_, synchronize_event, "cuEventSynchronize");
    load(library_, copy_to_device, "cuMemcpyHtoDAsync_v2");
    load(library_, copy_to_host, "cuMemcpyDtoHAsync_v2");
    load(library_, fill, "cuMemsetD8Async");
  } catch (...) {
    dlclose(library_);
    throw;
  }
}

Driver::~Driver() { dlclose(library_); }

std::string Driver::text_of(Result result) const {
  const char* text = nullptr;
  if (error_string(result, &text) == k_success && text) return text;
  return "error " + std::to_string(result);
}

void Driver::check(Result result, const std::string& what) const {
  if (result != k_success) throw Error(Code::failed, what + ": " + text_of(result));
}

}  // namespace terrace::stencil::cuda
