// SPDX-License-Identifier: Apache-2.0
// Encodes and decodes the tables and places of MPI objects in a session. See mpi_objects_spec.hpp.
#include "runtime/session/mpi_objects_spec.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace terrace::runtime {

namespace {
constexpr std::uint32_t k_stays = 0xffffffff;  // in the blob: the kind has no place
}

bool MpiObjectsSpec::is_wanted() const {
  return std::ranges::any_of(placed, [](const auto& place) { return place.has_value(); });
}

std::optional<std::uint32_t> MpiObjectsSpec::find_place(std::string_view name) const {
  for (const auto member : {&Place::name, &Place::kind}) {
    const auto found = std::ranges::find(places, name, member);
    if (found != places.end()) return static_cast<std::uint32_t>(found - places.begin());
  }
  return std::nullopt;
}

void MpiObjectsSpec::to_blob(BlobWriter& out) const {
  out.put(static_cast<std::uint32_t>(tables.size()));
  for (const auto& table : tables) table.to_blob(out);
  out.put(static_cast<std::uint32_t>(places.size()));
  for (const auto& place : places) {
    out.put(place.name);
    out.put(place.kind);
    out.put(place.id);
    out.put(static_cast<std::int32_t>(place.node));
  }
  for (const auto& place : placed) out.put(place.value_or(k_stays));
}

MpiObjectsSpec MpiObjectsSpec::from_blob(BlobReader& in) {
  MpiObjectsSpec spec;
  for (auto n = in.get<std::uint32_t>(); n > 0; --n)
    spec.tables.push_back(strategy::MpiObjectTable::from_blob(in));
  for (auto n = in.get<std::uint32_t>(); n > 0; --n) {
    Place place;
    place.name = in.get_string();
    place.kind = in.get_string();
    place.id = in.get<PlaceId>();
    place.node = in.get<std::int32_t>();
    spec.places.push_back(std::move(place));
  }
  for (auto& place : spec.placed) {
    const auto index = in.get<std::uint32_t>();
    if (index == k_stays) continue;
    if (index >= spec.places.size())
      throw Error(Code::corrupt, "the session names a place that it does not have; start the program again");
    place = index;
  }
  return spec;
}

}  // namespace terrace::runtime
