// SPDX-License-Identifier: Apache-2.0
// Implements a fully associative translation lookaside buffer with LRU replacement.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace terrace::gpu_sim {

class Tlb {
 public:
  explicit Tlb(std::uint32_t entries) : entries_(entries) {}

  static constexpr std::uint32_t k_unknown = 0xffffffff;
  // Returns the value of the page number, or k_unknown. Counts as a use.
  std::uint32_t look_up(std::uint64_t number) {
    if (number == last_number_) return last_value_;
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return k_unknown;
    order_.splice(order_.begin(), order_, found->second);
    last_number_ = number;
    return last_value_ = found->second->value;
  }
  void put(std::uint64_t number, std::uint32_t value) {
    if (look_up(number) != k_unknown) return;
    if (order_.size() == entries_) {
      forget(order_.back().number);
    }
    order_.push_front({number, value});
    by_number_[number] = order_.begin();
  }
  void forget(std::uint64_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return;
    order_.erase(found->second);
    by_number_.erase(found);
    if (last_number_ == number) last_number_ = ~std::uint64_t{0};
  }

 private:
  struct Entry {
    std::uint64_t number = 0;
    std::uint32_t value = 0;
  };
  std::size_t entries_;
  std::list<Entry> order_;  // most recently used first
  std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_number_;
  std::uint64_t last_number_ = ~std::uint64_t{0};  // a repeated lookup needs no search
  std::uint32_t last_value_ = k_unknown;
};

}  // namespace terrace::gpu_sim
