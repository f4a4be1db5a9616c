// SPDX-License-Identifier: Apache-2.0
// Represents a set of points as a list of disjoint ranges. Used by the analysis of chains, by out-of-core
// execution and by the cache model of virtual time.
#pragma once

#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil {

class Boxes {
 public:
  // Adds the points of the range that are not in the set yet.
  void add(const Range& range);
  // Returns the points of the range that are not in the set, as disjoint ranges.
  [[nodiscard]] std::vector<Range> missing(const Range& range) const;
  [[nodiscard]] bool covers(const Range& range) const { return missing(range).empty(); }
  [[nodiscard]] bool touches(const Range& range) const;
  [[nodiscard]] const std::vector<Range>& all() const { return all_; }

 private:
  std::vector<Range> all_;
};

}  // namespace terrace::stencil
