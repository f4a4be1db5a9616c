// SPDX-License-Identifier: Apache-2.0
// bmem.hpp: wraps bmem.h, the allocator for processing in memory, for C++ programs. Device and Block release what
// they own in their destructors. Invalid arguments throw std::invalid_argument with bmem_last_error()'s text; if
// there is no space, a block is empty.
#pragma once

#include <terrace/bmem.h>

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace terrace::bmem {

// Returns whether the call succeeded; false: no space on the device. Throws std::bad_alloc or
// std::invalid_argument for other failures.
inline bool done(bmem_status status) {
  if (status == BMEM_OK) return true;
  if (status == BMEM_NO_ROOM) return false;
  if (status == BMEM_NO_MEMORY) throw std::bad_alloc();
  throw std::invalid_argument(bmem_last_error());
}

// The device of this process; only one exists at a time.
class Device {
 public:
  Device(std::uint32_t rows, std::uint32_t columns, std::uint32_t subarrays, std::uint32_t banks,
         std::uint32_t devices = 1) {
    done(bmem_init_devices(rows, columns, subarrays, banks, devices));
  }
  ~Device() { bmem_dtor(); }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] static bmem_usage usage() {
    bmem_usage usage{};
    done(bmem_usage_of(&usage));
    return usage;
  }
};

// Owner of a block: releases it in the destructor. Converts to false if it is empty.
class Block {
 public:
  Block() = default;
  explicit Block(void* handle) : handle_(handle) {}
  Block(Block&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { bmem_free(handle_); }

  explicit operator bool() const { return handle_ != nullptr; }
  [[nodiscard]] void* handle() const { return handle_; }
  [[nodiscard]] bmem_block where() const {
    bmem_block where{};
    done(bmem_block_of(handle_, &where));
    return where;
  }

 private:
  void* handle_ = nullptr;
};

// Returns the request for `bytes` bytes, as bmem_malloc() would make it.
inline bmem_request request(std::size_t bytes, BMEM_DIM dim) {
  bmem_request request{};
  done(bmem_shape(bytes, dim, &request));
  return request;
}

// Returns the request for `count` elements of `bits` bits, as bmem_malloc_elements() would make it.
inline bmem_request elements(std::uint64_t count, std::uint32_t bits, BMEM_DIM dim) {
  bmem_request request{};
  done(bmem_shape_elements(count, bits, dim, &request));
  return request;
}

// Returns the request for `rows` rows in each of `subarrays` subarrays.
inline bmem_request raw(std::uint32_t subarrays, std::uint32_t rows) {
  bmem_request request{};
  request.subarrays = subarrays;
  request.rows = rows;
  return request;
}

// Allocates by a request; the block is empty if no such rectangle is free.
inline Block allocate(const bmem_request& request) {
  void* block = nullptr;
  done(bmem_malloc_request(&request, &block));
  return Block(block);
}

// Allocates all blocks, or none: then the result is empty.
inline std::vector<Block> allocate_group(std::span<const bmem_request> requests, bmem_within share) {
  std::vector<void*> handles(requests.size());
  std::vector<Block> blocks;
  blocks.reserve(requests.size());
  if (done(bmem_malloc_group(requests.data(), requests.size(), share, handles.data())))
    for (void* handle : handles) blocks.emplace_back(handle);
  return blocks;
}

}  // namespace terrace::bmem
