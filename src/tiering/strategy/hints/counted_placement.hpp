// Placement by reference counts, before anything was learned (Unimem, section 3.2): where data with counts is
// made, and where it goes when the loop begins.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "strategy/hints/expression.hpp"
#include "strategy/hints/hints.hpp"
#include "strategy/strategy.hpp"

namespace terrace::strategy {

class CountedPlacement {
 public:
  explicit CountedPlacement(const Context& context) : context_(context) {}
  [[nodiscard]] PlacementExtent initial_placement(const observe::Object& object, std::uint32_t left) const;
  // All objects are made and all values known, as far as they will be: what is referred to most goes to fast
  // memory before the first iteration begins, and is waited for.
  void place(Requests& requests) const;

 private:
  [[nodiscard]] Expression::Outcome references(const ReferenceCount& count) const;
  void note_placement(std::vector<std::pair<double, const observe::Object*>> counted, Requests& requests) const;

  const Context& context_;
};

}  // namespace terrace::strategy
