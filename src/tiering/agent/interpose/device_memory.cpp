// SPDX-License-Identifier: Apache-2.0
// Pins spilled memory that the program registers with a device driver (cudaHostRegister).
//
// Such a driver gets the pages from the kernel without faulting in a way that userfaultfd could serve, and fails
// if one is absent. So spilled pages are fetched and pinned before the driver is called. NVIDIA's driver is
// called by ioctl(2) for an object of class NV01_MEMORY_SYSTEM_OS_DESCRIPTOR (its open kernel modules: nvos.h,
// nv_escape.h, cl0071.h).
#include <asm/ioctl.h>
#include <stdarg.h>
#include <stddef.h>

#include <cstdint>
#include <cstring>

#include "agent/heap/spilled_heap.hpp"
#include "agent/lifecycle/in_process.hpp"
#include "agent/linking/next.hpp"
#include "observe/threads/thread.hpp"

namespace terrace::agent {

namespace {

struct AllocatedObject {
  std::uint32_t root, parent, itself, kind, flags;
  alignas(8) std::uint64_t address;
  std::uint64_t last;  // offset of the last byte
  std::uint32_t status;
  alignas(8) std::int32_t file;
};

constexpr unsigned long k_allocate = _IOWR('F', 0x27, AllocatedObject);
constexpr std::uint32_t k_programs_memory = 0x71;

// Pins the range that an ioctl(2) of NVIDIA's driver is about to register. `argument`: its parameter block.
void pin_registered_memory(const void* argument) noexcept {
  auto* const heap = spilled_heap();
  if (!heap || !heap->is_owner_process() || !argument || observe::t_thread.inside > 0) return;
  AllocatedObject object;
  std::memcpy(&object, argument, sizeof object);
  if (object.kind != k_programs_memory) return;
  const observe::RuntimeScope inside;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  heap->pin(reinterpret_cast<const void*>(object.address), object.last + 1);
}

}  // namespace

}  // namespace terrace::agent

extern "C" TERRACE_EXPORT int ioctl(int file, unsigned long request, ...) noexcept {
  using namespace terrace::agent;
  static constinit NextFunction<int (*)(int, unsigned long, void*)> next{"ioctl"};
  va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  if (request == k_allocate) pin_registered_memory(argument);
  return (*next)(file, request, argument);
}
