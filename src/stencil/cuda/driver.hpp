// SPDX-License-Identifier: Apache-2.0
// Loads the functions of the CUDA driver that Terrace uses from libcuda.so.1, at first use: neither building
// Terrace nor its packages needs CUDA. The CUDA Driver API reference documents them; types, constants and
// layouts are those of its binary interface. Used by the executor `gpu` and the files of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace terrace::stencil::cuda {

using Result = int;
using DeviceNumber = int;
using Address = unsigned long long;  // device address
using Handle = unsigned long long;   // physical memory
using Context = struct ContextOfDriver*;
using StreamHandle = struct StreamOfDriver*;
using EventHandle = struct EventOfDriver*;

inline constexpr Result k_success = 0;
inline constexpr int k_has_virtual_memory = 102;  // device attribute
inline constexpr int k_on_device = 1;             // location type
inline constexpr int k_pinned = 1;                // allocation type
inline constexpr int k_read_write = 3;
inline constexpr unsigned k_portable = 1;       // pinned memory visible to all contexts
inline constexpr unsigned k_non_blocking = 1;   // stream without implicit synchronisation with stream 0
inline constexpr unsigned k_sleep_no_time = 3;  // event with blocking waits and without timing

struct Location {
  int type = k_on_device;
  int device = 0;
};
struct Allocation {
  int type = k_pinned;
  int handle_types = 0;
  Location location;
  void* windows = nullptr;
  unsigned char compression = 0;
  unsigned char remote = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {0, 0, 0, 0};
};
struct AccessDescriptor {
  Location location;
  int flags = k_read_write;
};

struct Driver {
  // Loads the driver. Throws Error{unsupported} if there is none.
  Driver();
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  // Throws Error{failed}: "WHAT: the driver's text".
  void check(Result result, const std::string& what) const;
  [[nodiscard]] std::string text_of(Result result) const;

  Result (*init)(unsigned) = nullptr;
  Result (*error_string)(Result, const char**) = nullptr;
  Result (*device_count)(int*) = nullptr;
  Result (*device)(DeviceNumber*, int) = nullptr;
  Result (*device_attribute)(int*, int, DeviceNumber) = nullptr;
  Result (*retain_context)(Context*, DeviceNumber) = nullptr;
  Result (*release_context)(DeviceNumber) = nullptr;
  Result (*set_context)(Context) = nullptr;

  Result (*allocation_granularity)(std::size_t*, const Allocation*, int) = nullptr;
  Result (*reserve)(Address*, std::size_t, std::size_t, Address, unsigned long long) = nullptr;
  Result (*free_addresses)(Address, std::size_t) = nullptr;
  Result (*create)(Handle*, std::size_t, const Allocation*, unsigned long long) = nullptr;
  Result (*release)(Handle) = nullptr;
  Result (*map)(Address, std::size_t, std::size_t, Handle, unsigned long long) = nullptr;
  Result (*unmap)(Address, std::size_t) = nullptr;
  Result (*set_access)(Address, std::size_t, const AccessDescriptor*, std::size_t) = nullptr;
  Result (*allocate)(Address*, std::size_t) = nullptr;
  Result (*free)(Address) = nullptr;
  Result (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
  Result (*free_host)(void*) = nullptr;

  Result (*create_stream)(StreamHandle*, unsigned) = nullptr;
  Result (*destroy_stream)(StreamHandle) = nullptr;
  Result (*synchronize_stream)(StreamHandle) = nullptr;
  Result (*create_event)(EventHandle*, unsigned) = nullptr;
  Result (*destroy_event)(EventHandle) = nullptr;
  Result (*record_event)(EventHandle, StreamHandle) = nullptr;
  Result (*synchronize_event)(EventHandle) = nullptr;
  Result (*copy_to_device)(Address, const void*, std::size_t, StreamHandle) = nullptr;
  Result (*copy_to_host)(void*, Address, std::size_t, StreamHandle) = nullptr;
  Result (*fill)(Address, unsigned char, std::size_t, StreamHandle) = nullptr;

 private:
  void* library_ = nullptr;
};

}  // namespace terrace::stencil::cuda
