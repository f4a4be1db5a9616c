// Implements fake_cuda.hpp. Types are those of the driver's binary interface.
#include "fake_cuda.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <utility>

#include "world.hpp"

namespace terrace::stencil::test::fake_cuda {

void reset(std::uint64_t seed, std::size_t memory, std::size_t granularity) {
  auto& all = world();
  const std::scoped_lock lock(all.mutex);
  all.random.seed(seed);
  all.memory = memory;
  all.granularity = granularity;
  all.devices = 1;
  all.called.clear();
  all.failures.clear();
  all.broken.clear();
  all.sticky = 0;
  if (all.file < 0) all.file = memfd_create("fake device memory", MFD_CLOEXEC);
  if (all.physical.empty()) {
    all.file_end = 0;
    [[maybe_unused]] const auto ignored = ftruncate(all.file, 0);
  }
}

void remove_devices() { world().devices = 0; }

void fail(const std::string& function, int after, int error) {
  const std::scoped_lock lock(world().mutex);
  world().failures[function] = {after, error};
}

void launch(void* stream, std::vector<Used> used, std::function<void()> kernel) {
  const Entry entry("launch");
  world().put(static_cast<Stream*>(stream), {std::move(used), std::move(kernel), true, false});
}

std::vector<std::string> violations() {
  const std::scoped_lock lock(world().mutex);
  return world().broken;
}

std::vector<std::string> left() {
  auto& all = world();
  const std::scoped_lock lock(all.mutex);
  std::vector<std::string> found;
  const auto count = [&](std::size_t number, const char* what) {
    if (number > 0) found.push_back(std::to_string(number) + ' ' + what);
  };
  count(all.reserved.size(), "reserved ranges");
  count(all.mapped.size(), "mappings");
  count(all.physical.size(), "pieces of memory");
  count(all.buffers.size(), "buffers");
  count(all.pinned.size(), "pieces of pinned memory");
  count(all.streams.size(), "streams");
  count(all.events.size(), "events");
  count(static_cast<std::size_t>(all.contexts), "contexts");
  return found;
}

int calls(const std::string& function) {
  const std::scoped_lock lock(world().mutex);
  return world().called[function];
}

// --- the driver's functions ---

extern "C" {

#define FAKE [[gnu::visibility("default")]] int

FAKE cuInit(unsigned) { return Entry("cuInit", false).error; }
FAKE cuGetErrorString(int error, const char** text) {
  *text = error == k_out_of_memory ? "out of memory" : error == k_no_device ? "no device" : "an illegal address";
  return 0;
}
FAKE cuDeviceGetCount(int* count) {
  *count = world().devices;
  return 0;
}
FAKE cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
FAKE cuDeviceGetAttribute(int* value, int, int) {
  *value = 1;
  return 0;
}
FAKE cuDevicePrimaryCtxRetain(void** context, int) {
  const Entry entry("cuDevicePrimaryCtxRetain", false);
  ++world().contexts;
  *context = &world();
  return entry.error;
}
FAKE cuDevicePrimaryCtxRelease_v2(int) {
  const Entry entry("cuDevicePrimaryCtxRelease_v2", false);
  --world().contexts;
  return entry.error;
}
FAKE cuCtxSetCurrent(void* context) {
  has_context = context != nullptr;
  return 0;
}

FAKE cuMemGetAllocationGranularity(std::size_t* bytes, const void*, int) {
  *bytes = world().granularity;
  return 0;
}
FAKE cuMemAddressReserve(unsigned long long* address, std::size_t size, std::size_t, unsigned long long,
                         unsigned long long) {
  const Entry entry("cuMemAddressReserve");
  if (entry.error != 0) return entry.error;
  if (size == 0 || size % world().granularity != 0) return k_invalid;
  auto* const made = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  world().reserved[static_cast<char*>(made)] = size;
  *address = reinterpret_cast<std::uintptr_t>(made);
  return 0;
}
FAKE cuMemAddressFree(unsigned long long address, std::size_t size) {
  const Entry entry("cuMemAddressFree");
  auto* const first = reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
  const auto found = world().reserved.find(first);
  if (found == world().reserved.end() || found->second != size) return k_invalid;
  for (const auto& [at, mapping] : world().mapped)
    if (overlaps(at, mapping.size, first, size)) world().breach("addresses freed where memory is mapped");
  munmap(first, size);
  world().reserved.erase(found);
  return entry.error;
}
FAKE cuMemCreate(unsigned long long* handle, std::size_t size, const void*, unsigned long long) {
  const Entry entry("cuMemCreate");
  auto& all = world();
  if (entry.error != 0) return entry.error;
  if (size == 0 || size % all.granularity != 0) return k_invalid;
  if (all.taken + size > all.memory) return k_out_of_memory;
  all.taken += size;
  const Physical made{size, all.file_end, false};
  all.file_end += size;
  const std::vector<char> garbage(size, 0x5b);
  if (pwrite(all.file, garbage.data(), size, static_cast<off_t>(made.offset)) != static_cast<ssize_t>(size))
    return k_out_of_memory;
  *handle = all.next_handle++;
  all.physical[*handle] = made;
  return 0;
}
FAKE cuMemRelease(unsigned long long handle) {
  const Entry entry("cuMemRelease");
  const auto found = world().physical.find(handle);
  if (found == world().physical.end()) return k_invalid;
  if (found->second.is_mapped) world().breach("memory released that is mapped");
  world().taken -= found->second.size;
  world().physical.erase(found);
  return entry.error;
}
FAKE cuMemMap(unsigned long long address, std::size_t size, std::size_t offset, unsigned long long handle,
              unsigned long long) {
  const Entry entry("cuMemMap");
  if (entry.error != 0) return entry.error;
  auto& all = world();
  auto* const first = reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
  const auto found = all.physical.find(handle);
  auto range = all.reserved.upper_bound(first);
  if (found == all.physical.end() || offset != 0 || size != found->second.size || range == all.reserved.begin())
    return k_invalid;
  --range;
  if (first + size > range->first + range->second) return k_invalid;
  for (const auto& [at, mapping] : all.mapped)
    if (overlaps(at, mapping.size, first, size)) {
      all.breach("memory mapped where other memory is");
      return k_invalid;
    }
  if (found->second.is_mapped) all.breach("memory mapped twice");
  mmap(first, size, PROT_NONE, MAP_SHARED | MAP_FIXED, all.file, static_cast<off_t>(found->second.offset));
  all.mapped[first] = {size, handle, false};
  found->second.is_mapped = true;
  return 0;
}
FAKE cuMemSetAccess(unsigned long long address, std::size_t size, const void*, std::size_t) {
  const Entry entry("cuMemSetAccess");
  if (entry.error != 0) return entry.error;
  auto* const first = reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
  const auto found = world().mapped.find(first);
  if (found == world().mapped.end() || found->second.size != size) return k_invalid;
  mprotect(first, size, PROT_READ | PROT_WRITE);
  found->second.has_access = true;
  return 0;
}
FAKE cuMemUnmap(unsigned long long address, std::size_t size) {
  const Entry entry("cuMemUnmap");
  if (entry.error != 0) return entry.error;
  auto& all = world();
  auto* const first = reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
  const auto found = all.mapped.find(first);
  if (found == all.mapped.end() || found->second.size != size) return k_invalid;
  all.hold_unused(first, size, "memory unmapped");
  mmap(first, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  all.physical[found->second.handle].is_mapped = false;
  all.mapped.erase(found);
  return 0;
}
FAKE cuMemAlloc_v2(unsigned long long* address, std::size_t size) {
  const Entry entry("cuMemAlloc_v2");
  if (entry.error != 0) return entry.error;
  auto* const made = new char[size];
  std::memset(made, 0x5b, size);
  world().buffers[made] = size;
  *address = reinterpret_cast<std::uintptr_t>(made);
  return 0;
}
FAKE cuMemFree_v2(unsigned long long address) {
  const Entry entry("cuMemFree_v2");
  auto* const first = reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
  const auto found = world().buffers.find(first);
  if (found == world().buffers.end()) return k_invalid;
  world().hold_unused(first, found->second, "memory freed");
  world().buffers.erase(found);
  delete[] first;
  return 0;
}
FAKE cuMemHostAlloc(void** address, std::size_t size, unsigned) {
  const Entry entry("cuMemHostAlloc");
  if (entry.error != 0) return entry.error;
  auto* const made = new char[size];
  std::memset(made, 0x5b, size);
  world().pinned[made] = size;
  *address = made;
  return 0;
}
FAKE cuMemFreeHost(void* address) {
  const Entry entry("cuMemFreeHost");
  auto* const first = static_cast<char*>(address);
  const auto found = world().pinned.find(first);
  if (found == world().pinned.end()) return k_invalid;
  world().hold_unused(first, found->second, "pinned memory freed");
  world().pinned.erase(found);
  delete[] first;
  return 0;
}

FAKE cuStreamCreate(Stream** stream, unsigned) {
  const Entry entry("cuStreamCreate");
  if (entry.error != 0) return entry.error;
  world().streams.insert(*stream = new Stream);
  return 0;
}
FAKE cuStreamDestroy_v2(Stream* stream) {
  const Entry entry("cuStreamDestroy_v2");
  world().wait(stream, stream->put);
  world().streams.erase(stream);
  delete stream;
  return 0;
}
FAKE cuStreamSynchronize(Stream* stream) {
  const Entry entry("cuStreamSynchronize");
  return entry.error != 0 ? entry.error : world().wait(stream, stream->put);
}
FAKE cuEventCreate(Event** event, unsigned) {
  const Entry entry("cuEventCreate");
  if (entry.error != 0) return entry.error;
  world().events.insert(*event = new Event);
  return 0;
}
FAKE cuEventDestroy_v2(Event* event) {
  const Entry entry("cuEventDestroy_v2");
  world().events.erase(event);
  delete event;
  return 0;
}
FAKE cuEventRecord(Event* event, Stream* stream) {
  const Entry entry("cuEventRecord");
  if (entry.error != 0) return entry.error;
  *event = {stream, stream->put};
  return 0;
}
FAKE cuEventSynchronize(Event* event) {
  const Entry entry("cuEventSynchronize");
  if (entry.error != 0) return entry.error;
  return event->stream ? world().wait(event->stream, event->number) : 0;
}
FAKE cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t size, Stream* stream) {
  const Entry entry("cuMemcpyHtoDAsync_v2");
  if (entry.error != 0) return entry.error;
  auto* const device = reinterpret_cast<char*>(static_cast<std::uintptr_t>(to));
  if (world().is_pinned(from, size)) {
    world().put(stream, {{{device, size, true}, {from, size, false}}, [=] { std::memcpy(device, from, size); }});
  } else {  // the driver copies it at the call
    auto kept =
        std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + size);
    world().put(stream, {{{device, size, true}}, [=] { std::memcpy(device, kept->data(), size); }});
  }
  return 0;
}
FAKE cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t size, Stream* stream) {
  const Entry entry("cuMemcpyDtoHAsync_v2");
  if (entry.error != 0) return entry.error;
  const auto* const device = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(from));
  Operation operation{{{device, size, false}}, [=] { std::memcpy(to, device, size); }, false, true};
  if (world().is_pinned(to, size)) operation.used.push_back({to, size, true});
  world().put(stream, std::move(operation));
  return 0;
}
FAKE cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t size, Stream* stream) {
  const Entry entry("cuMemsetD8Async");
  if (entry.error != 0) return entry.error;
  auto* const device = reinterpret_cast<char*>(static_cast<std::uintptr_t>(to));
  world().put(stream, {{{device, size, true}}, [=] { std::memset(device, value, size); }});
  return 0;
}

}  // extern "C"

}  // namespace terrace::stencil::test::fake_cuda
