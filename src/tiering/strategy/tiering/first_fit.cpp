// SPDX-License-Identifier: Apache-2.0
// Finds the fastest place with free space, as a kernel does at first touch, for strategies before they have a
// plan. See first_fit.hpp.
#include "strategy/tiering/first_fit.hpp"

#include <algorithm>

namespace terrace::strategy {

std::optional<PlacementExtent> first_fit(const Context& context, const observe::Object& object,
                                         std::uint32_t left) {
  for (const auto place : context.places()) {
    const auto room = context.ledger->available(place).value / object.chunk_size.value;
    if (room > 0) return PlacementExtent{place, static_cast<std::uint32_t>(std::min<std::uint64_t>(room, left))};
  }
  return std::nullopt;
}

std::vector<PlaceId> first_fit_all(const Context& context) {
  auto room = context.budget;
  std::vector<PlaceId> places;
  places.reserve(context.chunks->size());
  for (const auto& chunk : *context.chunks) {
    auto& place = places.emplace_back(k_no_place);
    if (!chunk.live) continue;
    const auto fits = [&](PlaceId one) { return room[one].value >= chunk.size; };
    const auto found = std::ranges::find_if(context.places(), fits);
    place = found != context.places().end() ? *found : context.home();
    if (fits(place)) room[place] -= Bytes{chunk.size};
  }
  return places;
}

}  // namespace terrace::strategy
