// SPDX-License-Identifier: Apache-2.0
// Formats orderings, the places by preference for each initiator and intent, as text and as JSON, for `terrace
// machine orderings`.
#include <nlohmann/json.hpp>

#include "machine/describe/describe.hpp"
#include "machine/describe/text_table.hpp"
#include "machine/ordering.hpp"

namespace terrace::machine {
namespace {

const char* describe_source(Source source) {
  switch (source) {
    case Source::file:
      return "machine file";
    case Source::measured:
      return "measured";
    case Source::firmware:
      return "firmware (HMAT by hwloc)";
    case Source::distance:
      return "scaled by NUMA distance";
    case Source::kind:
      return "not known: default of the kind";
  }
  return "";
}

std::string format_value(const Machine& machine, InitiatorId initiator, const RankedPlace& one) {
  switch (one.basis) {
    case Basis::bandwidth:
      return format(BytesPerSecond{one.value}) + " of " + format(machine.path(initiator, one.place).read);
    case Basis::latency:
      return format(Seconds{one.value});
    case Basis::capacity:
      return format(Bytes{static_cast<std::uint64_t>(one.value)});
    case Basis::distance:
      return std::to_string(static_cast<int>(one.value));
    case Basis::stated:
    case Basis::no_path:
      break;
  }
  return "-";
}

std::string describe_reason(const RankedPlace& one) {
  std::string reason;
  if (one.basis == Basis::stated) reason = "stated in the machine file";
  if (one.basis == Basis::no_path) reason = "no path is known: behind all others";
  if (one.basis == Basis::distance) reason = "system's NUMA distance";
  if (one.basis == Basis::capacity) reason = "size of the place";
  if (one.source) reason = describe_source(*one.source);
  if (one.own_ordinary) reason += "; own ordinary memory";
  if (one.computes && one.basis != Basis::stated) reason += "; computes: behind the others";
  return reason;
}

// Returns whether the place follows those named in the machine file, in the order of `normal`.
bool is_unnamed(const std::vector<RankedPlace>& ranked_places, std::size_t i) {
  return ranked_places.front().basis == Basis::stated && ranked_places[i].basis != Basis::stated;
}

// Adds the rows of one ordering: a row for the places of each rank that have the same value and reason.
void add_rows(const Machine& machine, InitiatorId initiator, const std::string& intent, TextTable& table) {
  const auto ranked_places = machine::rank_places(machine, initiator, intent);
  const auto shown = [&](std::size_t i) { return format_value(machine, initiator, ranked_places[i]); };
  for (std::size_t i = 0; i < ranked_places.size();) {
    // One line for the places of a rank with the same reason.
    const auto value = shown(i);
    auto reason = describe_reason(ranked_places[i]);
    const bool begins = i == 0 || ranked_places[i - 1].rank != ranked_places[i].rank;
    const auto rank = ranked_places[i].rank;
    if (is_unnamed(ranked_places, i)) reason += "; not named: as by normal";
    std::string places;
    const auto first = i;
    for (; i < ranked_places.size() && ranked_places[i].rank == rank && shown(i) == value &&
           describe_reason(ranked_places[i]) == describe_reason(ranked_places[first]);
         ++i)
      places += (places.empty() ? "" : " = ") + machine.place(ranked_places[i].place).name;
    table.add({first == 0 ? intent : "", begins ? std::to_string(rank + 1) : "=", places, value, reason});
  }
}

std::string initiator_title(const Machine& machine, const Initiator& initiator) {
  return initiator.name + " (domain " + machine.domains()[initiator.domain].name + ")\n";
}

const char* basis_name(Basis basis) {
  switch (basis) {
    case Basis::bandwidth:
      return "bandwidth";
    case Basis::latency:
      return "latency";
    case Basis::capacity:
      return "capacity";
    case Basis::distance:
      return "distance";
    case Basis::stated:
      return "stated";
    case Basis::no_path:
      return "no-path";
  }
  return "";
}

using Json = nlohmann::ordered_json;

Json ranks_json(const Machine& machine, InitiatorId initiator, std::string_view intent) {
  auto ranks = Json::array();
  for (const auto& one : rank_places(machine, initiator, intent)) {
    if (one.rank >= ranks.size()) ranks.push_back(Json::array());
    const auto& place = machine.place(one.place);
    const bool has_value = one.basis != Basis::stated && one.basis != Basis::no_path;
    ranks.back().push_back({{"place", place.name},
                            {"kind", place.kind},
                            {"domain", machine.domains()[place.domain].name},
                            {"numa_node", place.numa_node >= 0 ? Json(place.numa_node) : Json(nullptr)},
                            {"basis", basis_name(one.basis)},
                            {"value", has_value ? Json(one.value) : Json(nullptr)},
                            {"source", one.source ? Json(source_name(*one.source)) : Json(nullptr)},
                            {"own_ordinary", one.own_ordinary},
                            {"computes", one.computes}});
  }
  return ranks;
}

}  // namespace

std::string describe_orderings(const Machine& machine) {
  auto out = "Orderings of " + machine.name() + "\n";
  out += "  Places are used from rank 1 on; those joined by = are a tie (at most " +
         std::to_string(static_cast<int>(100 * k_tie)) +
         " % worse than the first).\n"
         "  bandwidth: what all cores stream of what the path reads, the higher first; latency: the lower first;\n"
         "  capacity: the larger first; normal: as the kernel does, own ordinary memory first, then by NUMA\n"
         "  distance, or by latency where distances are not known.\n";
  for (std::size_t i = 0; i < machine.initiators().size(); ++i) {
    const auto id = static_cast<InitiatorId>(i);
    TextTable table({"intent", "rank", "places", "value", "from"}, 5);
    for (const auto& intent : intents(machine)) add_rows(machine, id, intent, table);
    out += "\n" + initiator_title(machine, machine.initiators()[i]) + table.text();
  }
  return out;
}

std::string orderings_json(const Machine& machine) {
  auto orderings = Json::array();
  for (std::size_t i = 0; i < machine.initiators().size(); ++i) {
    const auto id = static_cast<InitiatorId>(i);
    const auto& initiator = machine.initiators()[i];
    for (const auto& intent : intents(machine))
      orderings.push_back({{"initiator", initiator.name},
                           {"domain", machine.domains()[initiator.domain].name},
                           {"intent", intent},
                           {"stated", stated_ordering(machine, id, intent) != nullptr},
                           {"ranks", ranks_json(machine, id, intent)}});
  }
  const Json json{{"schema", 1}, {"machine", machine.name()}, {"tie", k_tie}, {"orderings", orderings}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace terrace::machine
