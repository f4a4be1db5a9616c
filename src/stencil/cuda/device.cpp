// SPDX-License-Identifier: Apache-2.0
// Opens the GPU through CUDA's driver and implements the wrappers of its streams, events and buffers. The executor
// `gpu` and its backend use them; errors name the object that the driver refused.
#include "stencil/cuda/device.hpp"

#include "core/error.hpp"

namespace terrace::stencil::cuda {
namespace {

[[noreturn]] void no_device(const std::string& why) {
  throw Error(Code::unsupported, "executor=gpu needs a GPU, and none can be used: " + why +
                                     ": choose another executor, or run where a GPU is");
}

}  // namespace

Device::Device() {
  if (const auto result = driver_.init(0); result != k_success) no_device(driver_.text_of(result));
  int count = 0;
  if (const auto result = driver_.device_count(&count); result != k_success) no_device(driver_.text_of(result));
  if (count == 0) no_device("the driver has no device");
  driver_.check(driver_.device(&number_, 0), "the GPU");
  int has_virtual_memory = 0;
  driver_.check(driver_.device_attribute(&has_virtual_memory, k_has_virtual_memory, number_), "the GPU");
  if (has_virtual_memory == 0) no_device("the device has no virtual memory");
  driver_.check(driver_.retain_context(&context_, number_), "a context of the GPU");
}

Device::~Device() { driver_.release_context(number_); }

void Device::enter() const { driver_.check(driver_.set_context(context_), "the GPU's context"); }

Allocation Device::allocation() const {
  Allocation allocation;
  allocation.location.device = number_;
  return allocation;
}

std::size_t Device::granularity() const {
  const auto wanted = allocation();
  std::size_t bytes = 0;
  driver_.check(driver_.allocation_granularity(&bytes, &wanted, 0), "the granularity of the GPU's memory");
  return bytes;
}

CommandStream::CommandStream(const Device& device) : device_(device) {
  device.driver().check(device.driver().create_stream(&handle_, k_non_blocking), "a stream of the GPU");
}

CommandStream::~CommandStream() { device_.driver().destroy_stream(handle_); }

void CommandStream::wait(const char* what) const {
  device_.driver().check(device_.driver().synchronize_stream(handle_), what);
}

Event::Event(const Device& device) : device_(device) {
  device.driver().check(device.driver().create_event(&handle_, k_sleep_no_time), "an event of the GPU");
}

Event::~Event() { device_.driver().destroy_event(handle_); }

void Event::record(const CommandStream& stream) const {
  device_.driver().check(device_.driver().record_event(handle_, stream.handle()), "an event of the GPU");
}

Result Event::wait() const { return device_.driver().synchronize_event(handle_); }

Buffer::Buffer(const Device& device, std::size_t size, const char* what) : device_(&device), size_(size) {
  const auto result = device.driver().allocate(&address_, size);
  if (result == k_success) return;
  throw Error(Code::no_memory, "the GPU cannot allocate " + std::to_string(size) + " bytes for " + what + ": " +
                                   device.driver().text_of(result) + ": make memory=SIZE smaller");
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = other.device_;
  size_ = std::exchange(other.size_, 0);
  address_ = std::exchange(other.address_, 0);
  return *this;
}

void Buffer::release() noexcept {
  if (address_ != 0) device_->driver().free(address_);
}

}  // namespace terrace::stencil::cuda
