// SPDX-License-Identifier: Apache-2.0
// Implements whole_budget(). Separate from the parsers of budgets, because the library inside programs has none.
#include "machine/machine.hpp"

namespace terrace::machine {

Budget whole_budget(const Machine& machine) {
  Budget budget;
  for (std::size_t i = 0; i < machine.places().size(); ++i) {
    const auto& place = machine.places()[i];
    const bool open = !place.geometry || machine.home(place.domain) == i;
    budget.push_back(open ? place.capacity : Bytes{0});
  }
  return budget;
}

}  // namespace terrace::machine
