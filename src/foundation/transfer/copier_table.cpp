// See copier.hpp.
#include <algorithm>

#include "transfer/copier.hpp"

namespace terrace::transfer {

CopierTable::CopierTable(const CopierParts& parts)
    : places_(parts.machine.places().size()), of_(places_ * places_, nullptr) {
  const auto& places = parts.machine.places();
  auto variants = copiers();
  std::stable_sort(variants.begin(), variants.end(),
                   [](const auto* one, const auto* other) { return one->overhead() < other->overhead(); });
  for (const auto* variant : variants) {
    Copier* made = nullptr;
    for (std::size_t way = 0; way < of_.size(); ++way) {
      if (of_[way] || !variant->supports(places[way / places_], places[way % places_])) continue;
      if (!made) {
        auto copier = variant->make(parts);
        if (!copier) break;
        made = made_.emplace_back(std::move(copier)).get();
      }
      of_[way] = made;
    }
  }
}

}  // namespace terrace::transfer
