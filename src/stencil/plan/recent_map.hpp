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
class RecentMap {
 public:
  // `most`: that are kept, at least one.
  explicit RecentMap(std::size_t most) : most_(most) {}

  // nullptr: it was never added, or has left. A value stays where it is until it leaves.
  [[nodiscard]] Value* find(const Key& key) {
    const auto found = kept_.find(key);
    if (found == kept_.end()) return nullptr;
    found->second.asked = ++asked_;
    return &found->second.value;
  }
  // One that find() does not find.
  Value& add(Key key, Value value) {
    if (kept_.size() == most_)
      kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& one) { return one.second.asked; }));
    return kept_.emplace(std::move(key), Kept{std::move(value), ++asked_}).first->second.value;
  }
  [[nodiscard]] std::size_t size() const { return kept_.size(); }

 private:
  struct Kept {
    Value value;
    std::uint64_t asked = 0;
  };
  std::size_t most_;
  std::map<Key, Kept> kept_;
  std::uint64_t asked_ = 0;
};

}  // namespace terrace::stencil
