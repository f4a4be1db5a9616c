// SPDX-License-Identifier: Apache-2.0
// Selects the cheapest permitted copier for each pair of places, when the mover is constructed. See copier.hpp.
#include <algorithm>

#include "transfer/copier.hpp"

namespace terrace::transfer {

// Makes each copier that supports some pair of places and that the system permits, cheapest first.
CopierTable::CopierTable(const CopierParts& parts)
    : places_(parts.machine.places().size()), by_pair_(places_ * places_, nullptr) {
  const auto& places = parts.machine.places();
  auto variants = copiers();
  std::stable_sort(variants.begin(), variants.end(),
                   [](const auto* one, const auto* other) { return one->overhead() < other->overhead(); });
  for (const auto* variant : variants) {
    Copier* made = nullptr;
    for (std::size_t pair = 0; pair < by_pair_.size(); ++pair) {
      if (by_pair_[pair] || !variant->supports(places[pair / places_], places[pair % places_])) continue;
      if (!made) {
        auto copier = variant->make(parts);
        if (!copier) break;
        made = owned_.emplace_back(std::move(copier)).get();
      }
      by_pair_[pair] = made;
    }
  }
}

}  // namespace terrace::transfer
