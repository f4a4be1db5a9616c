// SPDX-License-Identifier: Apache-2.0
// RAII wrappers of one GPU: context, streams, events and memory that is not streamed. Used by the executor `gpu`
// and the files of this folder.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "stencil/cuda/driver.hpp"

namespace terrace::stencil::cuda {

class Device {
 public:
  // Opens the first device that the process may use (CUDA_VISIBLE_DEVICES), by its primary context, which the
  // CUDA runtime shares. Throws Error{unsupported} if there is none, or if it lacks virtual memory management.
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] Context context() const { return context_; }
  // Makes the device current for the calling thread.
  void enter() const;
  [[nodiscard]] Allocation allocation() const;
  // Returns the granularity of physical allocations, in bytes.
  [[nodiscard]] std::size_t granularity() const;

 private:
  Driver driver_;
  DeviceNumber number_ = 0;
  Context context_ = nullptr;
};

// A CUDA stream. Used by a thread that has entered the device.
class CommandStream {
 public:
  explicit CommandStream(const Device& device);
  ~CommandStream();
  CommandStream(const CommandStream&) = delete;
  CommandStream& operator=(const CommandStream&) = delete;

  [[nodiscard]] StreamHandle handle() const { return handle_; }
  // Waits until all enqueued work is done. Throws Error{failed}, which names `what`.
  void wait(const char* what) const;

 private:
  const Device& device_;
  StreamHandle handle_ = nullptr;
};

// A CUDA event: marks all work that a stream had when it was recorded last.
class Event {
 public:
  explicit Event(const Device& device);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const CommandStream& stream) const;
  // Waits for that work. Returns 0 or the driver's error number.
  [[nodiscard]] Result wait() const;

 private:
  const Device& device_;
  EventHandle handle_ = nullptr;
};

// Owns device memory.
class Buffer {
 public:
  Buffer() = default;
  // Allocates `size` bytes. Throws Error{no_memory}, which names `what`.
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
