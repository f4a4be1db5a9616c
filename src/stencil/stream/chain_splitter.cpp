// SPDX-License-Identifier: Apache-2.0
// Runs a chain of loops, or if it does not fit into memory the two halves of it, recursively. The engine puts it
// around every executor. See chain_splitter.hpp.
#include "stencil/stream/chain_splitter.hpp"

#include <algorithm>

#include "stencil/plan/chain_use.hpp"

namespace terrace::stencil {

void ChainSplitter::add(const DatasetInfo& info) {
  ExecutorDecorator::add(info);
  if (!info.is_temporary) return;
  auto& kept = temporaries_[info.id];
  for (const auto& range : info.kept) kept.add(range);
}

void ChainSplitter::run(std::span<const Loop> chain, Reductions& reductions) {
  std::size_t before = 0;
  if (cuts_.size() > 0)
    if (const auto* const found = cuts_.find(signature_of(chain))) before = *found;
  if (before == 0) {
    try {
      ExecutorDecorator::run(chain, reductions);
      return;
    } catch (const InsufficientMemory&) {
      before = find_cut(chain);
      if (before == 0) throw;
    }
    cuts_.add(signature_of(chain), before);
  }
  ++statistics_.shortened_chains;
  run(chain.subspan(0, before), reductions);
  run(chain.subspan(before), reductions);
}

std::size_t ChainSplitter::find_cut(std::span<const Loop> chain) const {
  const auto middle = chain.size() / 2;
  for (std::size_t away = 0; away <= middle; ++away) {
    const auto below = middle - away, above = middle + away;
    if (below > 0 && can_cut(chain, below)) return below;
    if (away > 0 && above < chain.size() && can_cut(chain, above)) return above;
  }
  return 0;
}

// Returns whether no temporary dataset has values that the loops from `before` on read.
bool ChainSplitter::can_cut(std::span<const Loop> chain, std::size_t before) const {
  if (temporaries_.empty()) return true;
  for (const auto& [dataset, use] : uses_of(chain.subspan(before))) {
    const auto found = temporaries_.find(dataset);
    if (found == temporaries_.end()) continue;
    for (const auto& needed : use.needed.all())
      if (!found->second.covers(needed)) return false;
  }
  return true;
}

}  // namespace terrace::stencil
