// Results of loops: a partial one for each row, and how these become one, always in the same order.
#pragma once

#include <cstddef>
#include <vector>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

class Reductions {
 public:
  ReductionId add(ReductionKind kind, Number number);
  // Room for the partial results of a loop, each as that of no points; by use.
  [[nodiscard]] std::vector<std::vector<std::byte>> partials(const Loop& loop) const;
  // Enters those of a loop that ran.
  void enter(const Loop& loop, const std::vector<std::vector<std::byte>>& partials);
  // The result so far, and that of no points from now on.
  void take(ReductionId reduction, std::byte* number);

 private:
  struct One {
    ReductionKind kind;
    Number number;
    std::vector<std::byte> value;
    double lost = 0;  // what rounding took from a sum of floating-point numbers
  };
  std::vector<One> all_;
};

}  // namespace terrace::stencil
