// SPDX-License-Identifier: Apache-2.0
// Implements a map of bounded size with least-recently-used eviction. It caches plans and other facts of
// chains for the engine and the executors: a program whose chains never repeat must not use ever more memory. Not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace terrace::stencil {

template <class Key, class Value>
class LruMap {
 public:
  // `max_size` >= 1 is the number of entries that are kept.
  explicit LruMap(std::size_t max_size) : max_size_(max_size) {}

  // Returns the value, or nullptr if the key is not cached. Pointers stay valid until the entry is evicted.
  [[nodiscard]] Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.last_use = ++clock_;
    return &found->second.value;
  }
  // Adds an entry; evicts the least recently used one if the map is full. Requires that find(key) is nullptr.
  Value& add(Key key, Value value) {
    if (entries_.size() == max_size_)
      entries_.erase(std::ranges::min_element(entries_, {}, [](const auto& one) { return one.second.last_use; }));
    return entries_.emplace(std::move(key), Entry{std::move(value), ++clock_}).first->second.value;
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    std::uint64_t last_use = 0;
  };
  std::size_t max_size_;
  std::map<Key, Entry> entries_;
  std::uint64_t clock_ = 0;
};

}  // namespace terrace::stencil
