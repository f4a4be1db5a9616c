// SPDX-License-Identifier: Apache-2.0
// Implements the backend of the executor `gpu`: allocates frames (physical GPU memory of one chunk) and pinned
// host memory, remaps frames, and copies chunks. Called by Stream; see device_backend.hpp.
#include "stencil/cuda/device_backend.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"

namespace terrace::stencil::cuda {

DeviceBackend::DeviceBackend(std::shared_ptr<const Device> device, std::size_t memory, std::size_t chunk)
    : device_(std::move(device)),
      driver_((device_->enter(), device_->driver())),
      chunk_(chunk),
      up_(*device_, ended_, k_max_copies),
      down_(*device_, ended_, k_max_copies),
      own_(*device_) {
  const auto allocation = device_->allocation();
  try {
    void* bounce = nullptr;
    driver_.check(driver_.allocate_host(&bounce, chunk_, k_portable), "no pinned memory for a chunk");
    bounce_ = static_cast<std::byte*>(bounce);
    for (std::size_t made = 0; made < memory / chunk_; ++made) {
      Frame frame;
      if (const auto result = driver_.create(&frame.memory, chunk_, &allocation, 0); result != k_success)
        throw Error(Code::no_memory, "memory=" + format(Bytes{memory}) + ": the GPU can allocate only " +
                                         format(Bytes{made * chunk_}) + " (" + driver_.text_of(result) +
                                         "): make memory=SIZE smaller");
      frames_.push_back(frame);
    }
  } catch (...) {
    release();
    throw;
  }
}

DeviceBackend::~DeviceBackend() {
  driver_.set_context(device_->context());
  release();
}

void DeviceBackend::release() noexcept {
  for (const auto& frame : frames_) {
    if (frame.chunk) driver_.unmap(address(*frame.chunk), chunk_);
    driver_.release(frame.memory);
  }
  for (const auto& dataset : datasets_) {
    driver_.free_addresses(dataset.first, dataset.size);
    if (dataset.host) driver_.free_host(dataset.host);
  }
  if (bounce_) driver_.free_host(bounce_);
}

void DeviceBackend::allocate_host(Dataset& dataset) const {
  void* memory = nullptr;
  if (const auto result = driver_.allocate_host(&memory, dataset.size, k_portable); result != k_success)
    throw Error(Code::no_memory, "no pinned memory for the dataset '" + dataset.name + "', " +
                                     std::to_string(dataset.size) + " bytes: " + driver_.text_of(result) +
                                     ": take a smaller problem");
  dataset.host = static_cast<std::byte*>(memory);
}

std::byte* DeviceBackend::add_dataset(const std::string& name, const std::vector<bool>& is_kept) {
  device_->enter();
  Dataset dataset{name, 0, is_kept.size() * chunk_, nullptr};
  // Allocate host memory now: at an eviction it would be too late to fail.
  if (std::ranges::find(is_kept, true) != is_kept.end()) allocate_host(dataset);
  if (const auto result = driver_.reserve(&dataset.first, dataset.size, 0, 0, 0); result != k_success) {
    if (dataset.host) driver_.free_host(dataset.host);
    driver_.check(result, "no addresses for the dataset '" + name + "'");
  }
  datasets_.push_back(std::move(dataset));
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(datasets_.back().first));
}

void DeviceBackend::remove_dataset(DatasetId dataset) {
  device_->enter();
  if (bounced_ && bounced_->dataset == dataset) {
    bounced_.reset();
    is_bounce_changed_ = false;
  }
  if (auto* const memory = std::exchange(datasets_[dataset].host, nullptr)) driver_.free_host(memory);
}

void DeviceBackend::move_frame(FrameId number, const std::optional<ChunkId>& from, const ChunkId& to) {
  device_->enter();
  auto& frame = frames_[number];
  if (from) driver_.check(driver_.unmap(address(*from), chunk_), "memory cannot be unmapped");
  frame.chunk.reset();
  driver_.check(driver_.map(address(to), chunk_, 0, frame.memory, 0), "memory cannot be mapped");
  frame.chunk = to;
  AccessDescriptor access;
  access.location = device_->allocation().location;
  driver_.check(driver_.set_access(address(to), chunk_, &access, 1), "memory cannot be mapped");
}

std::byte* DeviceBackend::host(const ChunkId& chunk) {
  auto& dataset = datasets_[chunk.dataset];
  if (!dataset.host) allocate_host(dataset);
  return dataset.host + std::size_t{chunk.number} * chunk_;
}

bool DeviceBackend::clear(const ChunkId& chunk, std::uint64_t ticket) {
  driver_.check(driver_.fill(address(chunk), 0, chunk_, up_.handle()), "a copy failed");
  up_.track(ticket);
  ++under_way_;
  return false;
}

void DeviceBackend::fetch(const ChunkId& chunk, std::uint64_t ticket) {
  device_->enter();
  driver_.check(driver_.copy_to_device(address(chunk), host(chunk), chunk_, up_.handle()), "a copy failed");
  up_.track(ticket);
  ++under_way_;
}

void DeviceBackend::store(const ChunkId& chunk, std::uint64_t ticket) {
  device_->enter();
  driver_.check(driver_.copy_to_host(host(chunk), address(chunk), chunk_, down_.handle()), "a copy failed");
  down_.track(ticket);
  ++under_way_;
}

bool DeviceBackend::next(Completion& completion) {
  CopyCompletionQueue::Ended ended;
  if (!ended_.next(ended)) return false;
  --under_way_;
  completion.ticket = ended.ticket;
  completion.error = ended.result == k_success ? "" : driver_.text_of(ended.result);
  return true;
}

void DeviceBackend::copy_to_bounce(const ChunkId& chunk) {
  if (bounced_ == chunk) return;
  flush();
  driver_.check(driver_.copy_to_host(bounce_, address(chunk), chunk_, own_.handle()), "a read failed");
  own_.wait("a read failed");
  bounced_ = chunk;
}

void DeviceBackend::flush() {
  const auto kept = std::exchange(bounced_, std::nullopt);
  if (!kept || !std::exchange(is_bounce_changed_, false)) return;
  device_->enter();
  driver_.check(driver_.copy_to_device(address(*kept), bounce_, chunk_, own_.handle()), "a write failed");
  own_.wait("a write failed");
}

void DeviceBackend::read(const Part& part, std::byte* to) {
  device_->enter();
  if (part.is_fast) {
    copy_to_bounce(part.chunk);
    std::memcpy(to, bounce_ + part.within, part.size);
  } else if (part.is_clear) {
    std::memset(to, 0, part.size);
  } else {
    std::memcpy(to, host(part.chunk) + part.within, part.size);
  }
}

void DeviceBackend::write(const Part& part, const std::byte* from) {
  device_->enter();
  if (part.is_fast) {
    copy_to_bounce(part.chunk);
    std::memcpy(bounce_ + part.within, from, part.size);
    is_bounce_changed_ = true;
    return;
  }
  auto* const memory = host(part.chunk);
  if (part.is_clear) std::memset(memory, 0, chunk_);
  std::memcpy(memory + part.within, from, part.size);
}

}  // namespace terrace::stencil::cuda
