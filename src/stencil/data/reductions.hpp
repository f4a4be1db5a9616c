// SPDX-License-Identifier: Apache-2.0
// Stores the results of reductions (sum, minimum, maximum) over loops. Each row has a partial result; combine()
// combines them in a fixed order, so the result does not depend on threads, tiles or ranks. Used by the engine and
// all executors; the subclass RankResults (ranks/rank_results.hpp) keeps the partial results of one rank.
#pragma once

#include <cstddef>
#include <vector>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

class Reductions {
 public:
  virtual ~Reductions() = default;
  ReductionId add(ReductionKind kind, Number number);
  // Returns buffers for the partial results of a loop, one per reduction argument, filled with the identity of
  // each.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> partials(const Loop& loop) const;
  // Combines the partial results of a loop that ran into the totals.
  virtual void combine(const Loop& loop, const std::vector<std::vector<std::byte>>& partials);
  // Copies the result so far to `number` and resets it to the identity.
  void take_result(ReductionId reduction, std::byte* number);

  [[nodiscard]] ReductionKind kind(ReductionId reduction) const { return all_[reduction].kind; }
  // Returns the size of the reduction's value in bytes.
  [[nodiscard]] std::size_t size(ReductionId reduction) const { return all_[reduction].value.size(); }
  // Returns which of `count` >= 1 partial results a minimum or maximum takes.
  [[nodiscard]] std::size_t best(ReductionId reduction, const std::byte* partials, std::size_t count) const;

 private:
  struct ReductionState {
    ReductionKind kind;
    Number number;
    std::vector<std::byte> value;
    double compensation = 0;  // rounding error of a floating-point sum (compensated summation)
  };
  std::vector<ReductionState> all_;
};

}  // namespace terrace::stencil
