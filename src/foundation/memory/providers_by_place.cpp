// SPDX-License-Identifier: Apache-2.0
// Implements ProvidersByPlace of provider.hpp.
#include <algorithm>

#include "memory/provider.hpp"

namespace terrace::memory {

ProvidersByPlace::ProvidersByPlace(const machine::Machine& machine, const ChunkTable& chunks)
    : of_(machine.places().size(), nullptr) {
  for (const auto* variant : providers()) {
    Provider* made = nullptr;
    for (std::size_t place = 0; place < of_.size(); ++place) {
      if (of_[place] || !variant->serves(machine.places()[place])) continue;
      if (!made) made = made_.emplace_back(variant->make(machine, chunks)).get();
      of_[place] = made;
    }
  }
}

bool ProvidersByPlace::bind(ChunkId first, std::uint32_t count, PlaceId place) {
  return of_[place] && of_[place]->bind(first, count, place);
}

PlaceId ProvidersByPlace::where(ChunkId chunk) {
  for (const auto& provider : made_)
    if (const auto place = provider->where(chunk); place != k_no_place) return place;
  return k_no_place;
}

}  // namespace terrace::memory
