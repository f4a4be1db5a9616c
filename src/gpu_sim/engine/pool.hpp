// SPDX-License-Identifier: Apache-2.0
// Stores objects by number; numbers of released objects are reused. Events refer to requests, accesses and moves
// of the GPU simulator by such numbers.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace terrace::gpu_sim {

template <class Object>
class Pool {
 public:
  std::uint32_t add(Object object) {
    if (free_.empty()) {
      objects_.push_back(std::move(object));
      return static_cast<std::uint32_t>(objects_.size() - 1);
    }
    const auto number = free_.back();
    free_.pop_back();
    objects_[number] = std::move(object);
    return number;
  }
  void release(std::uint32_t number) { free_.push_back(number); }
  [[nodiscard]] Object& operator[](std::uint32_t number) { return objects_[number]; }

 private:
  std::vector<Object> objects_;
  std::vector<std::uint32_t> free_;
};

}  // namespace terrace::gpu_sim
