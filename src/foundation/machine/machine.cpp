// SPDX-License-Identifier: Apache-2.0
// Implements the machine model for the launcher, the simulator and the library inside programs: look-ups by name
// and kind, the orders of the places of a domain, and budgets without their parser, which that library lacks.
#include "machine/machine.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "machine/machine_checks.hpp"

namespace terrace::machine {

Machine::Machine(MachineParts parts) : parts_(std::move(parts)) {
  complete_and_check(parts_);
  for (std::size_t d = 0; d < parts_.domains.size(); ++d) orders_.push_back(order_of(static_cast<DomainId>(d)));
}

namespace {
constexpr std::array<std::string_view, 5> k_sources{"file", "measured", "firmware", "distance", "kind"};
__extension__ using Wide = unsigned __int128;  // bytes by bytes
}  // namespace

std::string_view source_name(Source source) { return k_sources.at(static_cast<std::size_t>(source)); }

std::optional<Source> parse_source(std::string_view word) {
  const auto at = std::ranges::find(k_sources, word);
  if (at == k_sources.end()) return std::nullopt;
  return static_cast<Source>(at - k_sources.begin());
}

LibraryTimes library_times(const Initiator& initiator) {
  constexpr double k_usual_frequency = 2.6e9;  // as in library.hpp, if it is unknown
  const double frequency = initiator.frequency_hz > 0 ? initiator.frequency_hz : k_usual_frequency;
  auto times = initiator.library;
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i].value == 0) times[i] = {k_library[i].cycles / frequency};
  return times;
}

std::optional<PlaceId> Machine::find_place(std::string_view name) const {
  for (std::size_t i = 0; i < parts_.places.size(); ++i) {
    if (parts_.places[i].name == name) return static_cast<PlaceId>(i);
  }
  return std::nullopt;
}

std::optional<PlaceId> Machine::find_kind(DomainId domain, std::string_view kind) const {
  for (const auto place : parts_.domains.at(domain).places) {
    if (parts_.places[place].kind == kind) return place;
  }
  return std::nullopt;
}

// Called where budgets and plans name a kind of memory instead of a place.
std::vector<std::string> Machine::kinds() const {
  std::vector<std::string> kinds;
  for (const auto& place : parts_.places) {
    if (std::find(kinds.begin(), kinds.end(), place.kind) == kinds.end()) kinds.push_back(place.kind);
  }
  return kinds;
}

const Path* Machine::find_path(InitiatorId initiator, PlaceId place) const {
  for (const auto& path : parts_.paths) {
    if (path.initiator == initiator && path.place == place) return &path;
  }
  return nullptr;
}

const Path& Machine::path(InitiatorId initiator, PlaceId place) const {
  if (const auto* found = find_path(initiator, place)) return *found;
  throw Error(Code::not_found, "machine '" + parts_.name + "' has no path " +
                                   parts_.initiators.at(initiator).name + " -> " + parts_.places.at(place).name +
                                   "; add a [[path]] to its file");
}

BytesPerSecond Machine::copy_bandwidth(PlaceId from, PlaceId to) const {
  for (const auto& copy : parts_.copies) {
    if (copy.from == from && copy.to == to) return copy.bandwidth;
  }
  // The target's initiator copies, or the source's if that has no path to the source.
  for (const auto side : {to, from}) {
    const auto initiator = parts_.domains[parts_.places.at(side).domain].initiator;
    const Path* read = nullptr;
    const Path* write = nullptr;
    for (const auto& path : parts_.paths) {
      if (path.initiator != initiator) continue;
      if (path.place == from) read = &path;
      if (path.place == to) write = &path;
    }
    if (read != nullptr && write != nullptr) return std::min(read->read, write->write);
  }
  throw Error(Code::not_found, "machine '" + parts_.name + "': no initiator has paths to both " +
                                   place(from).name + " and " + place(to).name + "; add a [[copy]] to its file");
}

const BackingFile* Machine::find_backing_file(PlaceId place) const {
  for (const auto& file : parts_.files)
    if (file.beside == place) return &file;
  return nullptr;
}

const CopierPrice& Machine::copier() const {
  static const CopierPrice ideal{.name = k_ideal_copier};
  return parts_.copiers.empty() ? ideal : parts_.copiers.front();
}

PlaceId Machine::home(DomainId domain) const {
  // The slower of two places with equal capacity is home, so that data without a placement do not fill the memory
  // that is worth planning for.
  const auto& places = fastest_first(domain);
  auto best = places.front();  // processing in memory only if all are
  const bool computes = place(best).geometry.has_value();
  for (const auto id : places)
    if (place(id).geometry.has_value() == computes && place(id).capacity >= place(best).capacity) best = id;
  return best;
}

Seconds Machine::line_time(DomainId id, PlaceId place_id) const {
  return line_time_from(parts_.domains.at(id).initiator, place_id);
}

Seconds Machine::line_time_from(InitiatorId id, PlaceId place_id) const {
  const auto& initiator = parts_.initiators.at(id);
  const auto& to = path(id, place_id);
  return to.latency / (initiator.cores * initiator.prefetch_mlp) + parts_.line / to.read;
}

// Computes fastest_first() of a domain, once for each machine.
std::vector<PlaceId> Machine::order_of(DomainId id) const {
  auto places = parts_.domains.at(id).places;
  std::stable_sort(places.begin(), places.end(), [&](PlaceId a, PlaceId b) {
    const bool a_computes = place(a).geometry.has_value(), b_computes = place(b).geometry.has_value();
    return a_computes != b_computes ? b_computes : line_time(id, a) < line_time(id, b);
  });
  return places;
}

Budget whole_budget(const Machine& machine) {
  Budget budget;
  for (std::size_t i = 0; i < machine.places().size(); ++i) {
    const auto& place = machine.places()[i];
    const bool open = !place.geometry || machine.home(place.domain) == i;
    budget.push_back(open ? place.capacity : Bytes{0});
  }
  return budget;
}

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
