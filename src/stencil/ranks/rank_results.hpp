// SPDX-License-Identifier: Apache-2.0
// Results of loops that several ranks do: each keeps the partial results of its own rows; all are gathered and
// entered as those of one rank would be.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "stencil/data/reductions.hpp"
#include "stencil/ranks/division.hpp"
#include "terrace/stencil/ranks.hpp"

namespace terrace::stencil {

// What an executor enters the partial results of its loops into: kept, until they are gathered.
class RankResults final : public Reductions {
 public:
  explicit RankResults(const Reductions& all) : all_(all) {}
  [[nodiscard]] std::vector<std::vector<std::byte>> partials(const Loop& loop) const override {
    return all_.partials(loop);
  }
  void enter(const Loop& loop, const std::vector<std::vector<std::byte>>& partials) override {
    if (!loop.reductions.empty()) kept_[&loop] = {loop.range, partials};
  }
  struct Kept {
    Range range;  // of the rows
    std::vector<std::vector<std::byte>> partials;
  };
  // Of a loop that ran; nullptr: it did not, or has no results.
  [[nodiscard]] const Kept* of(const Loop* loop) const {
    const auto found = kept_.find(loop);
    return found == kept_.end() ? nullptr : &found->second;
  }

 private:
  const Reductions& all_;
  std::map<const Loop*, Kept> kept_;
};

// Enters the results of a chain whose loops have the whole ranges; `done` are this rank's, nullptr where it did
// nothing. All ranks call it.
void gather_results(std::span<const Loop> chain, std::span<const RankResults::Kept* const> done,
                    const Division& division, Ranks& ranks, Reductions& results);

}  // namespace terrace::stencil
