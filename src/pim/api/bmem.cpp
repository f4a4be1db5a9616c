// SPDX-License-Identifier: Apache-2.0
// Implements bmem.h, the C API by which programs allocate blocks of PIM devices, over the allocator of src/pim.
// The devices are global to the process, as malloc's heap is. With BMEM_TRACE, requests are recorded.
#include <fcntl.h>
#include <terrace/bmem.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "pim/allocator.hpp"
#include "pim/trace/recorder.hpp"

namespace {

using namespace terrace;
using namespace terrace::pim;

static_assert(sizeof(void*) == sizeof(Handle), "handles are passed as pointers");

// Creates a file that did not exist: `name`, or `name` with the first unused number appended.
std::ofstream new_file(const std::string& name) {
  for (int number = 1; number < 10'000; ++number) {
    const auto path = number == 1 ? name : name + "." + std::to_string(number);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) continue;
    if (file < 0) break;
    close(file);
    return std::ofstream(path);
  }
  std::fprintf(stderr,
               "bmem: BMEM_TRACE: no file '%s' can be created, so requests are not recorded; name one in a "
               "writable folder\n",
               name.c_str());
  return {};
}

// The process's devices: an allocator, and a recorder in front of it with BMEM_TRACE.
class Device {
 public:
  Device(const Geometry& geometry, std::uint8_t tag) : allocator_(geometry, tag) {
    const char* const name = std::getenv("BMEM_TRACE");
    if (name == nullptr || *name == '\0') return;
    trace_ = new_file(name);
    if (!trace_.is_open()) return;
    trace_ << std::unitbuf;  // unbuffered: a killed program leaves its requests
    recorder_.emplace(allocator_, trace_);
  }

  Handle allocate(const Request& request) {
    return recorder_ ? recorder_->allocate(request) : allocator_.allocate(request);
  }
  std::vector<Handle> allocate_group(std::span<const Request> requests, Within share) {
    return recorder_ ? recorder_->allocate_group(requests, share) : allocator_.allocate_group(requests, share);
  }
  Released release(Handle handle) { return recorder_ ? recorder_->release(handle) : allocator_.release(handle); }
  [[nodiscard]] std::optional<Block> block(Handle handle) const { return allocator_.block(handle); }
  [[nodiscard]] const Geometry& geometry() const { return allocator_.geometry(); }
  [[nodiscard]] std::uint64_t free_units() const { return allocator_.free_units(); }

 private:
  Allocator allocator_;
  std::ofstream trace_;
  std::optional<Recorder> recorder_;
};

std::atomic<Device*> g_device{nullptr};
std::atomic<std::uint32_t> g_devices_made{0};
thread_local std::array<char, 256> t_error;

bmem_status refuse(bmem_status status, const char* call, const char* why) {
  std::snprintf(t_error.data(), t_error.size(), "%s: %s", call, why);
  return status;
}

void* pointer_of(Handle handle) { return reinterpret_cast<void*>(handle.value); }
Handle handle_of(const void* pointer) { return {reinterpret_cast<std::uint64_t>(pointer)}; }

Dim dim_of(BMEM_DIM dim) {
  if (dim != BMEM_HORI && dim != BMEM_VERT)
    throw Error(Code::invalid, "dimension " + std::to_string(static_cast<int>(dim)) +
                                   " does not exist; pass BMEM_HORI or BMEM_VERT");
  return dim == BMEM_HORI ? Dim::horizontal : Dim::vertical;
}

Within within_of(bmem_within within) {
  switch (within) {
    case BMEM_DEVICE:
      return Within::device;
    case BMEM_BANK:
      return Within::bank;
    case BMEM_SUBARRAY:
      return Within::subarray;
  }
  throw Error(Code::invalid, "within or share is " + std::to_string(static_cast<int>(within)) +
                                 "; pass BMEM_DEVICE, BMEM_BANK or BMEM_SUBARRAY");
}

// Converts the C API's request; 0 as alignment means any.
Request request_of(const bmem_request& asked) {
  if (asked.fit != BMEM_FIRST && asked.fit != BMEM_BEST)
    throw Error(Code::invalid, "fit " + std::to_string(static_cast<int>(asked.fit)) +
                                   " does not exist; pass BMEM_FIRST or BMEM_BEST");
  const auto any = [](std::uint32_t alignment) { return alignment == 0 ? 1 : alignment; };
  return {.shape = {asked.rows, asked.subarrays},
          .dim = dim_of(asked.dim),
          .fit = asked.fit == BMEM_BEST ? Fit::best : Fit::first,
          .within = within_of(asked.within),
          .row_alignment = any(asked.row_alignment),
          .subarray_alignment = any(asked.subarray_alignment),
          .beside = handle_of(asked.beside),
          .share = within_of(asked.share)};
}

// Calls work(device) and converts exceptions to a status.
template <typename Work>
bmem_status with_device(const char* call, Work work) {
  auto* const device = g_device.load(std::memory_order_acquire);
  if (device == nullptr) return refuse(BMEM_NOT_READY, call, "there is no device; call bmem_init first");
  try {
    return work(*device);
  } catch (const Error& error) {
    return refuse(BMEM_INVALID, call, error.what());
  } catch (const std::bad_alloc&) {
    return refuse(BMEM_NO_MEMORY, call, "this process has no memory left");
  }
}

// Allocates a block for one of the calls, and stores its pointer or the error's text.
bmem_status give(const char* call, Device& device, const Request& request, void** block) {
  const auto handle = device.allocate(request);
  *block = pointer_of(handle);
  if (handle) return BMEM_OK;
  std::snprintf(t_error.data(), t_error.size(), "%s: no rectangle of %u rows x %u subarrays is free", call,
                request.shape.rows, request.shape.subarrays);
  return BMEM_NO_ROOM;
}

}  // namespace

extern "C" {

const char* bmem_last_error() { return t_error.data(); }

bmem_status bmem_init(std::uint32_t rows, std::uint32_t columns, std::uint32_t subarrays, std::uint32_t banks) {
  return bmem_init_devices(rows, columns, subarrays, banks, 1);
}

bmem_status bmem_init_devices(std::uint32_t rows, std::uint32_t columns, std::uint32_t subarrays,
                              std::uint32_t banks, std::uint32_t devices) {
  try {
    const auto tag = static_cast<std::uint8_t>(1 + g_devices_made.fetch_add(1) % 255);
    auto device = std::make_unique<Device>(Geometry{rows, columns, subarrays, banks, devices}, tag);
    Device* none = nullptr;
    if (!g_device.compare_exchange_strong(none, device.get()))
      return refuse(BMEM_INVALID, "bmem_init", "there is a device already; call bmem_dtor first");
    device.release();  // NOLINT(bugprone-unused-return-value): g_device has it now
    return BMEM_OK;
  } catch (const Error& error) {
    return refuse(BMEM_INVALID, "bmem_init", error.what());
  } catch (const std::bad_alloc&) {
    return refuse(BMEM_NO_MEMORY, "bmem_init", "this process has no memory left");
  }
}

bmem_status bmem_dtor() {
  const std::unique_ptr<Device> device(g_device.exchange(nullptr));
  return device ? BMEM_OK : refuse(BMEM_NOT_READY, "bmem_dtor", "there is no device; call bmem_init first");
}

void* bmem_malloc(std::size_t bytes, BMEM_DIM dim) {
  void* block = nullptr;
  with_device("bmem_malloc", [&](Device& device) {
    const auto along = dim_of(dim);
    return give("bmem_malloc", device, {.shape = shape_of(device.geometry(), Bytes{bytes}, along), .dim = along},
                &block);
  });
  return block;
}

void* bmem_malloc_elements(std::uint64_t count, std::uint32_t bits, BMEM_DIM dim) {
  void* block = nullptr;
  with_device("bmem_malloc_elements", [&](Device& device) {
    const auto along = dim_of(dim);
    const auto shape = shape_of_elements(device.geometry(), count, bits, along);
    return give("bmem_malloc_elements", device, {.shape = shape, .dim = along}, &block);
  });
  return block;
}

void* bmem_malloc_raw(std::uint32_t subarrays, std::uint32_t rows) {
  void* block = nullptr;
  with_device("bmem_malloc_raw", [&](Device& device) {
    return give("bmem_malloc_raw", device, {.shape = {rows, subarrays}}, &block);
  });
  return block;
}

bmem_status bmem_malloc_request(const bmem_request* request, void** block) {
  if (request == nullptr || block == nullptr)
    return refuse(BMEM_INVALID, "bmem_malloc_request", "a pointer is NULL");
  *block = nullptr;
  return with_device("bmem_malloc_request", [&](Device& device) {
    return give("bmem_malloc_request", device, request_of(*request), block);
  });
}

bmem_status bmem_malloc_group(const bmem_request* requests, std::size_t count, bmem_within share, void** blocks) {
  if (requests == nullptr || blocks == nullptr)
    return refuse(BMEM_INVALID, "bmem_malloc_group", "a pointer is NULL");
  return with_device("bmem_malloc_group", [&](Device& device) {
    if (count > k_max_group) return refuse(BMEM_INVALID, "bmem_malloc_group", "a group has 8 blocks at most");
    std::fill_n(blocks, count, nullptr);
    std::vector<Request> asked;
    for (std::size_t i = 0; i < count; ++i) asked.push_back(request_of(requests[i]));
    const auto handles = device.allocate_group(asked, within_of(share));
    if (handles.empty())
      return refuse(BMEM_NO_ROOM, "bmem_malloc_group",
                    "no room for all blocks together; release some, or request smaller ones");
    for (std::size_t i = 0; i < count; ++i) blocks[i] = pointer_of(handles[i]);
    return BMEM_OK;
  });
}

bmem_status bmem_shape(std::size_t bytes, BMEM_DIM dim, bmem_request* request) {
  if (request == nullptr) return refuse(BMEM_INVALID, "bmem_shape", "a pointer is NULL");
  return with_device("bmem_shape", [&](Device& device) {
    const auto shape = shape_of(device.geometry(), Bytes{bytes}, dim_of(dim));
    *request = {};
    request->rows = shape.rows;
    request->subarrays = shape.subarrays;
    request->dim = dim;
    return BMEM_OK;
  });
}

bmem_status bmem_shape_elements(std::uint64_t count, std::uint32_t bits, BMEM_DIM dim, bmem_request* request) {
  if (request == nullptr) return refuse(BMEM_INVALID, "bmem_shape_elements", "a pointer is NULL");
  return with_device("bmem_shape_elements", [&](Device& device) {
    const auto shape = shape_of_elements(device.geometry(), count, bits, dim_of(dim));
    *request = {};
    request->rows = shape.rows;
    request->subarrays = shape.subarrays;
    request->dim = dim;
    return BMEM_OK;
  });
}

bmem_status bmem_free(void* block) {
  if (block == nullptr) return BMEM_OK;
  return with_device("bmem_free", [&](Device& device) {
    switch (device.release(handle_of(block))) {
      case Released::done:
        break;
      case Released::already:
        return refuse(BMEM_RELEASED, "bmem_free", "the block was released before");
      case Released::foreign:
        return refuse(BMEM_FOREIGN, "bmem_free", "that is no block of this device");
    }
    return BMEM_OK;
  });
}

bmem_status bmem_block_of(const void* block, bmem_block* where) {
  if (where == nullptr) return refuse(BMEM_INVALID, "bmem_block_of", "a pointer is NULL");
  return with_device("bmem_block_of", [&](Device& device) {
    const auto found = device.block(handle_of(block));
    if (!found) return refuse(BMEM_FOREIGN, "bmem_block_of", "that is no block of this device, or one released");
    const auto first = first_of(device.geometry(), *found);
    *where = {first.device,
              first.bank,
              first.subarray,
              first.row,
              found->shape.subarrays,
              found->shape.rows,
              size_of(device.geometry(), found->shape).value};
    return BMEM_OK;
  });
}

bmem_status bmem_usage_of(bmem_usage* usage) {
  if (usage == nullptr) return refuse(BMEM_INVALID, "bmem_usage_of", "a pointer is NULL");
  return with_device("bmem_usage_of", [&](Device& device) {
    *usage = {device.geometry().units(), device.free_units(), device.geometry().row_bytes().value};
    return BMEM_OK;
  });
}

}  // extern "C"
