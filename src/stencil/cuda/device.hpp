// SPDX-License-Identifier: Apache-2.0
// One GPU: its context, streams, events and memory that is not streamed, each given back by its destructor.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "stencil/cuda/driver.hpp"

namespace terrace::stencil::cuda {

class Device {
 public:
  // The first one that the process may use (CUDA_VISIBLE_DEVICES), by its primary context, which programs of the
  // CUDA runtime use, too. Throws Error{unsupported} where there is none, or where it has no virtual memory.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] Context context() const { return context_; }
  // The calling thread's calls are for this device.
  void enter() const;
  [[nodiscard]] Allocation allocation() const;
  // Chunks of its memory are multiples of so many bytes.
  [[nodiscard]] std::size_t granularity() const;

 private:
  Driver driver_;
  DeviceNumber number_ = 0;
  Context context_ = nullptr;
};

// What the device does in this order. Of the thread that has entered the device.
class CommandStream {
 public:
  explicit CommandStream(const Device& device);
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  [[nodiscard]] StreamHandle handle() const { return handle_; }
  // Returns once all is done. Throws Error{failed}, naming what failed.
  void wait(const char* what) const;

 private:
  const Device& device_;
  StreamHandle handle_ = nullptr;
};

// All that a stream had to do when it was recorded last.
class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const CommandStream& stream) const;
  // Returns once that is done; 0, or the driver's number of the error.
  [[nodiscard]] Result wait() const;

 private:
  const Device& device_;
  EventHandle handle_ = nullptr;
};

// Memory of the device.
class Buffer {
 public:
  Buffer() = default;
  // Throws Error{no_memory}, which says what it is for.
  Buffer(const Device& device, std::size_t size, const char* what);
  ~Buffer() { release(); }
  Buffer(Buffer&& other) noexcept
      : device_(other.device_), size_(std::exchange(other.size_, 0)), address_(std::exchange(other.address_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Address address() const { return address_; }

 private:
  void release() noexcept;

  const Device* device_ = nullptr;
  std::size_t size_ = 0;
  Address address_ = 0;
};

}  // namespace terrace::stencil::cuda
