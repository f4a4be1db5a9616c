// SPDX-License-Identifier: Apache-2.0
// Provides the places (memories) with the paths of one initiator (a set of cores), and the present place of a
// chunk. Used by the time law and the collectors.
#pragma once

#include <vector>

#include "machine/machine.hpp"
#include "memory/chunk_table.hpp"

namespace terrace::observe {

class PlaceView {
 public:
  // Throws Error{not_found} for an initiator that the machine does not have.
  PlaceView(const machine::Machine& machine, InitiatorId initiator);

  // Returns whether the machine file has a path to the place. If not, `path` returns that of the initiator of the
  // place's own domain: a lower bound of an access's cost.
  [[nodiscard]] bool reaches(PlaceId place) const { return reaches_[place]; }
  [[nodiscard]] const machine::Path& path(PlaceId place) const { return paths_[place]; }
  [[nodiscard]] std::size_t places() const { return paths_.size(); }

  // Returns the place of a chunk; an unbound chunk is in its domain's home place.
  [[nodiscard]] PlaceId place_of(const memory::Chunk& chunk) const {
    const auto place = chunk.place.load(std::memory_order_relaxed);
    return place == k_no_place ? home(chunk.domain) : place;
  }
  [[nodiscard]] PlaceId home(DomainId domain) const { return homes_[domain]; }
  // Returns the place of memory that belongs to no chunk: the home place of the initiator's domain.
  [[nodiscard]] PlaceId unowned() const { return homes_[domain_]; }

 private:
  std::vector<machine::Path> paths_;
  std::vector<bool> reaches_;
  std::vector<PlaceId> homes_;  // by domain
  DomainId domain_ = 0;         // the initiator's
};

}  // namespace terrace::observe
