// SPDX-License-Identifier: Apache-2.0
// Sets of points as lists of ranges that do not overlap.
#pragma once

#include <vector>

#include "terrace/stencil/grid.hpp"

namespace terrace::stencil {

class Boxes {
 public:
  // Adds what of the range is not there yet.
  void add(const Range& range);
  // What of the range is not there.
  [[nodiscard]] std::vector<Range> missing(const Range& range) const;
  [[nodiscard]] bool covers(const Range& range) const { return missing(range).empty(); }
  [[nodiscard]] bool touches(const Range& range) const;
  [[nodiscard]] const std::vector<Range>& all() const { return all_; }

 private:
  std::vector<Range> all_;
};

}  // namespace terrace::stencil
