// SPDX-License-Identifier: Apache-2.0
// Implements limit_budget(): a budget below a limit on all memory together, as of a control group.
#include <algorithm>

#include "machine/machine.hpp"

namespace terrace::machine {
namespace {

__extension__ using Wide = unsigned __int128;  // bytes by bytes

}  // namespace

Budget limit_budget(const Machine& machine, Budget budget, Bytes limit) {
  const auto is_home = [&](std::size_t i) { return machine.home(machine.places()[i].domain) == i; };
  std::uint64_t away = 0;
  for (std::size_t i = 0; i < budget.size(); ++i) {
    budget[i] = std::min(budget[i], limit);
    if (!is_home(i)) away += budget[i].value;
  }
  if (away <= limit.value) return budget;
  for (std::size_t i = 0; i < budget.size(); ++i) {
    if (is_home(i)) continue;
    const auto granule = std::max(machine.places()[i].granule.value, std::uint64_t{1});
    const auto part = static_cast<std::uint64_t>(Wide{budget[i].value} * limit.value / away);
    budget[i] = Bytes{part / granule * granule};
  }
  return budget;
}

}  // namespace terrace::machine
