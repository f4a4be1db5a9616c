// SPDX-License-Identifier: Apache-2.0
// Adapter for Kokkos Tools: the callbacks that Kokkos calls in a library named by KOKKOS_TOOLS_LIBS
// (Kokkos_Profiling_C_Interface.h). Kernels, deep copies and regions become phases. Host Views become objects
// named by their labels.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "agent/adapters/regions.hpp"
#include "agent/heap/object_registry.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

constexpr RegionAdapter k_kokkos{"Kokkos kernels"};

constinit std::uint64_t g_kernels = 0;  // of the main thread so far
constinit std::uint64_t g_pushed = 0;   // open regions of the main thread
constinit std::uint64_t g_copies = 0;   // open deep copies of the main thread

constexpr std::uint64_t k_pushed = 1ULL << 62;
constexpr std::uint64_t k_copied = 1ULL << 61;

// Sets the id by which Kokkos ends the kernel; 0: not recorded.
void begin_kernel(const char* name, std::uint64_t* kernel) {
  *kernel = 0;
  if (!RegionAdapter::is_active()) return;
  *kernel = ++g_kernels;
  k_kokkos.begin(*kernel, name ? name : "(kernel)");
}

void end_kernel(std::uint64_t kernel) {
  if (kernel != 0) k_kokkos.end(kernel);
}

// Returns whether a memory space is accessible host memory.
bool is_on_host(const char* space) {
  const std::string_view name(space, strnlen(space, 64));
  for (const char* const device : {"CudaUVM", "CudaHostPinned", "HIPManaged", "HIPHostPinned", "SYCLHostUSM"})
    if (name == device) return true;
  for (const char* const device : {"Cuda", "HIP", "SYCL", "OpenMPTarget", "OpenACC"})
    if (name.starts_with(device)) return false;
  return true;
}

}  // namespace

}  // namespace terrace::agent

namespace agent = terrace::agent;

extern "C" {

struct KokkosSpace {
  char name[64];
};
struct KokkosSettings {
  bool requires_global_fencing;
  bool padding[255];
};

TERRACE_EXPORT void kokkosp_init_library(int, std::uint64_t, std::uint32_t, void*) {
  terrace::agent::ensure_started();
}
TERRACE_EXPORT void kokkosp_finalize_library() {}

// Requests no fences around kernels: device kernels run asynchronously, and fences would slow the program down.
TERRACE_EXPORT void kokkosp_request_tool_settings(std::uint32_t, KokkosSettings* settings) {
  settings->requires_global_fencing = false;
}

TERRACE_EXPORT void kokkosp_begin_parallel_for(const char* name, std::uint32_t, std::uint64_t* kernel) {
  agent::begin_kernel(name, kernel);
}
TERRACE_EXPORT void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t, std::uint64_t* kernel) {
  agent::begin_kernel(name, kernel);
}
TERRACE_EXPORT void kokkosp_begin_parallel_scan(const char* name, std::uint32_t, std::uint64_t* kernel) {
  agent::begin_kernel(name, kernel);
}
TERRACE_EXPORT void kokkosp_end_parallel_for(std::uint64_t kernel) { agent::end_kernel(kernel); }
TERRACE_EXPORT void kokkosp_end_parallel_reduce(std::uint64_t kernel) { agent::end_kernel(kernel); }
TERRACE_EXPORT void kokkosp_end_parallel_scan(std::uint64_t kernel) { agent::end_kernel(kernel); }

TERRACE_EXPORT void kokkosp_push_profile_region(const char* name) {
  if (agent::RegionAdapter::is_active())
    agent::k_kokkos.begin(agent::k_pushed + agent::g_pushed++, name ? name : "");
}
TERRACE_EXPORT void kokkosp_pop_profile_region() {
  if (agent::RegionAdapter::is_active() && agent::g_pushed > 0)
    agent::k_kokkos.end(agent::k_pushed + --agent::g_pushed);
}

TERRACE_EXPORT void kokkosp_begin_deep_copy(KokkosSpace, const char* to, const void*, KokkosSpace,
                                            const char* from, const void*, std::uint64_t) {
  if (!agent::RegionAdapter::is_active()) return;
  const terrace::observe::RuntimeScope inside;
  char name[200] = "copy ";
  std::strncat(name, from ? from : "", 90);
  std::strcat(name, " to ");
  std::strncat(name, to ? to : "", 90);
  agent::k_kokkos.begin(agent::k_copied + agent::g_copies++, name);
}
TERRACE_EXPORT void kokkosp_end_deep_copy() {
  if (agent::RegionAdapter::is_active() && agent::g_copies > 0)
    agent::k_kokkos.end(agent::k_copied + --agent::g_copies);
}

// A View that is too small for a page of its own stays part of the enclosing object.
TERRACE_EXPORT void kokkosp_allocate_data(KokkosSpace space, const char* label, const void* data,
                                          std::uint64_t size) {
  auto* const here = agent::process();
  if (!here || !data || size == 0 || !label || *label == '\0' || !agent::is_on_host(space.name)) return;
  const auto low = reinterpret_cast<std::uint64_t>(data);
  here->objects->add(label, terrace::observe::ObjectKind::named, low, low + size);
}
TERRACE_EXPORT void kokkosp_deallocate_data(KokkosSpace space, const char*, const void* data, std::uint64_t) {
  auto* const here = agent::process();
  if (here && data && agent::is_on_host(space.name)) here->objects->forget(reinterpret_cast<std::uint64_t>(data));
}

}  // extern "C"
