// SPDX-License-Identifier: Apache-2.0
// Values by key, of which a bounded number is kept: when one more comes, that one leaves that was not asked for
// longest. For what was found out about chains, so that programs whose chains differ for ever take no more and
// more memory.
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
  // `max_size`: that are kept, at least one.
  explicit LruMap(std::size_t max_size) : max_size_(max_size) {}

  // nullptr: it was never added, or has left. A value stays where it is until it leaves.
  [[nodiscard]] Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.last_use = ++clock_;
    return &found->second.value;
  }
  // One that find() does not find.
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
