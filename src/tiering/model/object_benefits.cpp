// SPDX-License-Identifier: Apache-2.0
// See object_benefits.hpp.
#include "model/object_benefits.hpp"

#include "model/loads.hpp"

namespace terrace::model {

std::vector<double> object_benefits(const Problem& problem) {
  std::vector<PlaceId> fastest;
  Placement home;
  for (std::size_t d = 0; d < domain_count(problem); ++d) {
    const auto& places = fastest_first(problem, static_cast<DomainId>(d));
    fastest.push_back(places.empty() ? k_no_place : places.front());
  }
  for (const auto& item : problem.items)
    home.push_back(item.pinned != k_no_place ? item.pinned : home_of(problem, item.domain));

  std::vector<double> benefits(problem.objects.size(), 0);
  std::vector<std::vector<const ItemCell*>> cells(problem.objects.size());
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto at_home = load_of(problem, k, home);
    for (const auto& cell : problem.phases[k].cells) cells[problem.items[cell.item].object].push_back(&cell);
    for (std::size_t o = 0; o < cells.size(); ++o) {
      if (cells[o].empty()) continue;
      auto load = at_home;
      for (const auto* cell : cells[o]) {
        const auto& item = problem.items[cell->item];
        if (item.pinned != k_no_place) continue;
        load.take(*cell, home[cell->item]);
        load.put(*cell, fastest[item.domain]);
      }
      benefits[o] += at_home.time() - load.time();
      cells[o].clear();
    }
  }
  return benefits;
}

}  // namespace terrace::model
