// SPDX-License-Identifier: Apache-2.0
// Collects the places (memories) and paths of one initiator (a set of cores), for the time law and the collectors.
// See place_view.hpp.
#include "observe/place_view.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace terrace::observe {

PlaceView::PlaceView(const machine::Machine& machine, InitiatorId initiator) {
  if (initiator >= machine.initiators().size()) {
    throw Error(Code::not_found, "machine '" + machine.name() + "' has no initiator (set of cores) number " +
                                     std::to_string(initiator) + "; its file defines " +
                                     std::to_string(machine.initiators().size()) + ", numbered from 0");
  }
  domain_ = machine.initiators()[initiator].domain;
  const auto& paths = machine.parts().paths;
  for (std::size_t i = 0; i < machine.places().size(); ++i) {
    const auto place = static_cast<PlaceId>(i);
    reaches_.push_back(std::any_of(paths.begin(), paths.end(), [&](const machine::Path& path) {
      return path.initiator == initiator && path.place == place;
    }));
    const auto seen_by = reaches_.back() ? initiator : machine.domains()[machine.place(place).domain].initiator;
    paths_.push_back(machine.path(seen_by, place));
  }
  for (std::size_t i = 0; i < machine.domains().size(); ++i)
    homes_.push_back(machine.home(static_cast<DomainId>(i)));
}

}  // namespace terrace::observe
