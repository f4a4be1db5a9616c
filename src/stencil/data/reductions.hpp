// SPDX-License-Identifier: Apache-2.0
// Results of loops: a partial one for each row, and how these become one, always in the same order.
#pragma once

#include <cstddef>
#include <vector>

#include "terrace/stencil/context.hpp"

namespace terrace::stencil {

class Reductions {
 public:
  virtual ~Reductions() = default;
  ReductionId add(ReductionKind kind, Number number);
  // Room for the partial results of a loop, each as that of no points; by use.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> partials(const Loop& loop) const;
  // Enters those of a loop that ran.
  virtual void enter(const Loop& loop, const std::vector<std::vector<std::byte>>& partials);
  // The result so far, and that of no points from now on.
  void take(ReductionId reduction, std::byte* number);

  [[nodiscard]] ReductionKind kind(ReductionId reduction) const { return all_[reduction].kind; }
  // Of its number, in bytes.
  [[nodiscard]] std::size_t size(ReductionId reduction) const { return all_[reduction].value.size(); }
  // Of a minimum or a maximum: which of so many partial results, one at least, it takes.
  [[nodiscard]] std::size_t best(ReductionId reduction, const std::byte* partials, std::size_t count) const;

 private:
  struct ReductionState {
    ReductionKind kind;
    Number number;
    std::vector<std::byte> value;
    double compensation = 0;  // what rounding took from a sum of floating-point numbers
  };
  std::vector<ReductionState> all_;
};

}  // namespace terrace::stencil
