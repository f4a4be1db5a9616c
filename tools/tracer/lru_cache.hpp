// SPDX-License-Identifier: Apache-2.0
// Implements a textbook set-associative LRU cache, for hierarchy.hpp: each set is a list of lines, the one used
// last in front. The set is the line's number modulo the number of sets. It shares no code with the simulator's
// cache, which is compared with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.hpp"

namespace terrace::tracer {

class LruCache {
 public:
  // Rounds the size down to whole sets; at most 255 ways.
  LruCache(Bytes size, std::uint32_t ways, Bytes line) {
    const auto lines = std::max<std::uint64_t>(size.value / std::max<std::uint64_t>(line.value, 1), 1);
    ways_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(ways, 1, std::min<std::uint64_t>(lines, 255)));
    sets_.resize(lines / ways_);
  }

  struct Outcome {
    bool hit = false;
    std::optional<std::uint64_t> written_out;  // a dirty line that had to go
  };
  // Afterwards the line is here and the most recently used of its set.
  Outcome access(std::uint64_t line, bool dirty) {
    auto& set = sets_[line % sets_.size()];
    const auto found = find(set, line);
    if (found != set.end()) {
      found->dirty |= dirty;
      std::rotate(set.begin(), found, found + 1);
      return {true, std::nullopt};
    }
    Outcome outcome;
    if (set.size() == ways_) {
      if (set.back().dirty) outcome.written_out = set.back().line;
      set.pop_back();
    }
    set.insert(set.begin(), {line, dirty});
    return outcome;
  }
  // A dirty line comes from the cache before. Present: it becomes dirty, and is no more recently used than it was.
  Outcome write_back(std::uint64_t line) {
    auto& set = sets_[line % sets_.size()];
    const auto found = find(set, line);
    if (found == set.end()) return access(line, true);
    found->dirty = true;
    return {true, std::nullopt};
  }

 private:
  struct Line {
    std::uint64_t line = 0;
    bool dirty = false;
  };
  using Set = std::vector<Line>;
  static Set::iterator find(Set& set, std::uint64_t line) { return std::ranges::find(set, line, &Line::line); }

  std::size_t ways_ = 1;
  std::vector<Set> sets_;
};

}  // namespace terrace::tracer
