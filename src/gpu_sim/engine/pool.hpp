// Things by number, whose numbers are used again.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace terrace::gpu_sim {

template <class Thing>
class Pool {
 public:
  std::uint32_t add(Thing thing) {
    if (free_.empty()) {
      things_.push_back(std::move(thing));
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const auto number = free_.back();
    free_.pop_back();
    things_[number] = std::move(thing);
    return number;
  }
  void release(std::uint32_t number) { free_.push_back(number); }
  [[nodiscard]] Thing& operator[](std::uint32_t number) { return things_[number]; }

 private:
  std::vector<Thing> things_;
  std::vector<std::uint32_t> free_;
};

}  // namespace terrace::gpu_sim
