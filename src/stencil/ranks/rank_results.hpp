// SPDX-License-Identifier: Apache-2.0
// Combines reductions over several ranks: each rank stores the partial results of its rows; gather_results()
// gathers all of them and combines them as a single rank would, so results are bitwise equal. Used by Distributed.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "stencil/data/reductions.hpp"
#include "stencil/ranks/division.hpp"
#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {

// Stores partial results of an executor's loops until they are gathered.
class RankResults final : public Reductions {
 public:
  explicit RankResults(const Reductions& all) : all_(all) {}
  [[nodiscard]] std::vector<std::vector<std::byte>> partials(const Loop& loop) const override {
    return all_.partials(loop);
  }
  void combine(const Loop& loop, const std::vector<std::vector<std::byte>>& partials) override {
    if (!loop.reductions.empty()) kept_[&loop] = {loop.range, partials};
  }
  struct Kept {
    Range range;  // range of the rows
    std::vector<std::vector<std::byte>> partials;
  };
  // Returns the partial results of a loop; nullptr if it did not run or has none.
  [[nodiscard]] const Kept* of(const Loop* loop) const {
    const auto found = kept_.find(loop);
    return found == kept_.end() ? nullptr : &found->second;
  }

 private:
  const Reductions& all_;
  std::map<const Loop*, Kept> kept_;
};

// Gathers and enters the results of a chain of global loops. `done` are this rank's, nullptr where it did
// nothing. Collective.
void gather_results(std::span<const Loop> chain, std::span<const RankResults::Kept* const> done,
                    const Division& division, Ranks& ranks, Reductions& results);

}  // namespace terrace::stencil
