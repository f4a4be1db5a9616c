// SPDX-License-Identifier: Apache-2.0
// Places data by the reference counts of hints (hints.hpp) before the program was profiled, for LearningStrategy
// (Unimem, section 3.2): at allocation, and again when the loop begins.
//
// Not thread-safe.
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
  // Moves the data with most references to fast memory, and waits for the moves. Called before the first
  // iteration, when objects and values are known as far as they will be.
  void place(Requests& requests) const;

 private:
  [[nodiscard]] Expression::Outcome references(const ReferenceCount& count) const;
  void note_placement(std::vector<std::pair<double, const observe::Object*>> counted, Requests& requests) const;

  const Context& context_;
};

}  // namespace terrace::strategy
