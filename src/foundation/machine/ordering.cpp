// SPDX-License-Identifier: Apache-2.0
// Ranks a machine's places by intent, by the rules of the intents or by orderings stated in its file. The agent's
// heaps, `--intent` and `terrace machine` use the ranks. See ordering.hpp.
#include "machine/ordering.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "core/error.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::machine {
namespace {

// A place before ranks are assigned.
struct Candidate {
  RankedPlace ranked;
  std::uint32_t group = 0;  // compared before the cost
  double cost = 0;          // lower is better
  double latency = std::numeric_limits<double>::infinity();
  bool exact = false;            // ties only between equal costs
  bool distances_known = false;  // for all paths of the initiator

  [[nodiscard]] bool ties_with(const Candidate& best) const {
    return group == best.group && cost <= best.cost * (exact ? 1 : 1 + k_tie);
  }
};

enum Group : std::uint32_t { k_own, k_others, k_computing, k_without_path };

void by_bandwidth(const Machine& machine, const Path& path, Candidate& candidate) {
  const auto time = machine.line_time_from(path.initiator, path.place);
  candidate.cost = time.value;
  candidate.ranked.basis = Basis::bandwidth;
  candidate.ranked.value = static_cast<double>(machine.parts().line.value) / time.value;
  candidate.ranked.source = path.bandwidth_source;
}

void by_latency(const Machine& /*machine*/, const Path& path, Candidate& candidate) {
  candidate.cost = candidate.ranked.value = path.latency.value;
  candidate.ranked.basis = Basis::latency;
  candidate.ranked.source = path.latency_source;
}

void by_capacity(const Machine& machine, const Path& path, Candidate& candidate) {
  candidate.ranked.basis = Basis::capacity;
  candidate.ranked.value = static_cast<double>(machine.place(path.place).capacity.value);
  candidate.cost = 1 / candidate.ranked.value;
}

bool knows_distances(const Machine& machine, InitiatorId initiator) {
  for (std::size_t p = 0; p < machine.places().size(); ++p) {
    const auto* path = machine.find_path(initiator, static_cast<PlaceId>(p));
    if (path != nullptr && path->distance <= 0) return false;
  }
  return true;
}

// Rule of the intent `normal`: own ordinary memory first, then by NUMA distance, else by latency.
void as_kernel(const Machine& machine, const Path& path, Candidate& candidate) {
  const auto& place = machine.place(path.place);
  candidate.ranked.own_ordinary =
      place.domain == machine.initiators()[path.initiator].domain && is_ordinary(place.kind);
  if (candidate.ranked.own_ordinary) candidate.group = k_own;
  if (!candidate.distances_known) return by_latency(machine, path, candidate);
  candidate.cost = candidate.ranked.value = path.distance;
  candidate.ranked.basis = Basis::distance;
  candidate.exact = true;
}

using Rule = void (*)(const Machine&, const Path&, Candidate&);
constexpr std::string_view k_normal = "normal";
constexpr std::array<std::pair<std::string_view, Rule>, 4> k_rules{
    {{"bandwidth", by_bandwidth}, {"latency", by_latency}, {"capacity", by_capacity}, {k_normal, as_kernel}}};

const Rule* find_rule(std::string_view intent) {
  for (const auto& [name, rule] : k_rules)
    if (name == intent) return &rule;
  return nullptr;
}

// Values a place for the initiator by the rule of an intent.
Candidate candidate_for(const Machine& machine, InitiatorId initiator, PlaceId place, Rule rule,
                        bool distances_known) {
  Candidate candidate;
  candidate.distances_known = distances_known;
  candidate.ranked.place = place;
  const auto* path = machine.find_path(initiator, place);
  if (path == nullptr) {
    candidate.group = k_without_path;
    return candidate;
  }
  candidate.group = k_others;
  candidate.latency = path->latency.value;
  rule(machine, *path, candidate);
  if (machine.place(place).geometry.has_value()) {
    candidate.group = k_computing;
    candidate.ranked.computes = true;
    candidate.ranked.own_ordinary = false;
  }
  return candidate;
}

// Sorts all places by a rule and assigns ranks: places within the tolerance of a rank's first place tie.
std::vector<RankedPlace> rank_by_rule(const Machine& machine, InitiatorId initiator, Rule rule) {
  const bool distances_known = knows_distances(machine, initiator);
  std::vector<Candidate> all;
  for (std::size_t p = 0; p < machine.places().size(); ++p)
    all.push_back(candidate_for(machine, initiator, static_cast<PlaceId>(p), rule, distances_known));
  const auto order = [](const Candidate& one) { return std::tuple(one.group, one.cost, one.ranked.place); };
  std::ranges::sort(all, {}, order);
  for (std::size_t i = 1, first = 0; i < all.size(); ++i) {
    const bool tie = all[i].ties_with(all[first]);
    all[i].ranked.rank = all[first].ranked.rank + (tie ? 0 : 1);
    if (!tie) first = i;
  }
  std::ranges::sort(
      all, {}, [](const Candidate& one) { return std::tuple(one.ranked.rank, one.latency, one.ranked.place); });
  std::vector<RankedPlace> ranked_places;
  ranked_places.reserve(all.size());
  for (const auto& one : all) ranked_places.push_back(one.ranked);
  return ranked_places;
}

// Applies a stated ordering to places ranked by `normal`: the named places come first, the others keep their
// order.
class StatedOrderRanker {
 public:
  StatedOrderRanker(const Machine& machine, std::vector<RankedPlace> rest)
      : machine_(machine), rest_(std::move(rest)) {}

  std::vector<RankedPlace> order(const StatedOrdering& ordering) {
    for (const auto& rank : ordering.ranks)
      for (const auto& name : rank.names)
        if (const auto place = machine_.find_place(name)) named_.push_back(*place);
    for (const auto& rank : ordering.ranks) {
      for (const auto& name : rank.names) {
        if (const auto place = machine_.find_place(name)) {
          move_matching([&](const RankedPlace& one) { return one.place == *place; }, true);
        } else {
          move_matching([&](const RankedPlace& one) { return of_kind(one, name); }, rank.tie);
        }
      }
      end_rank();
    }
    append(rest_);
    return std::move(ranked_places_);
  }

 private:
  [[nodiscard]] bool of_kind(const RankedPlace& one, std::string_view kind) const {
    return machine_.place(one.place).kind == kind && std::ranges::find(named_, one.place) == named_.end();
  }

  // Moves the matching places to the current rank if `tie`, else to a rank for each of their previous ranks.
  template <class Which>
  void move_matching(Which which, bool tie) {
    std::vector<RankedPlace> taken;
    std::ranges::copy_if(rest_, std::back_inserter(taken), which);
    std::erase_if(rest_, which);
    for (auto& one : taken) {
      one.basis = Basis::stated;
      one.value = 0;
      one.source.reset();
      one.own_ordinary = false;
      if (tie) one.rank = 0;
    }
    append(taken);
  }

  // Appends places and renumbers their ranks without gaps.
  void append(const std::vector<RankedPlace>& ones) {
    for (std::size_t i = 0; i < ones.size(); ++i) {
      auto one = ones[i];
      if (i > 0 && one.rank != ones[i - 1].rank) ++next_;
      one.rank = next_;
      ranked_places_.push_back(one);
    }
  }

  // Ends the current rank, unless it is empty because all places of its kind are named elsewhere.
  void end_rank() {
    if (!ranked_places_.empty()) next_ = ranked_places_.back().rank + 1;
  }

  const Machine& machine_;
  std::vector<RankedPlace> rest_;
  std::vector<PlaceId> named_;
  std::vector<RankedPlace> ranked_places_;
  std::uint32_t next_ = 0;
};

std::string join_names(const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all.append(all.empty() ? "" : ", ").append(name);
  return all;
}

}  // namespace

bool is_ordinary(std::string_view kind) { return kind == "ddr" || kind == "dram"; }

std::vector<std::string> intents(const Machine& machine) {
  std::vector<std::string> names;
  names.reserve(k_rules.size());
  for (const auto& [name, rule] : k_rules) names.emplace_back(name);
  for (const auto& ordering : machine.parts().orderings)
    if (std::ranges::find(names, ordering.intent) == names.end()) names.push_back(ordering.intent);
  return names;
}

const StatedOrdering* stated_ordering(const Machine& machine, InitiatorId initiator, std::string_view intent) {
  const StatedOrdering* of_all = nullptr;
  for (const auto& ordering : machine.parts().orderings) {
    if (ordering.intent != intent) continue;
    if (ordering.initiator == initiator) return &ordering;
    if (!ordering.initiator) of_all = &ordering;
  }
  return of_all;
}

std::vector<RankedPlace> rank_places(const Machine& machine, InitiatorId initiator, std::string_view intent) {
  if (initiator >= machine.initiators().size())
    throw Error(Code::not_found, "machine '" + machine.name() + "' has no initiator (set of cores) number " +
                                     std::to_string(initiator) + "; its file defines " +
                                     std::to_string(machine.initiators().size()) + ", numbered from 0");
  const auto normal = [&] { return rank_by_rule(machine, initiator, *find_rule(k_normal)); };
  if (const auto* stated = stated_ordering(machine, initiator, intent))
    return StatedOrderRanker(machine, normal()).order(*stated);
  if (const auto* rule = find_rule(intent)) return rank_by_rule(machine, initiator, *rule);
  const auto known = intents(machine);
  if (std::ranges::find(known, intent) != known.end()) return normal();
  const auto nearest = nearest_name(intent, known);
  throw Error(Code::not_found,
              "machine '" + machine.name() + "' has no intent '" + std::string(intent) + "'" +
                  (nearest.empty() ? "; there are " : "; did you mean '" + nearest + "'? There are ") +
                  join_names(known));
}

std::vector<std::vector<PlaceId>> ordering(const Machine& machine, InitiatorId initiator,
                                           std::string_view intent) {
  std::vector<std::vector<PlaceId>> ranks;
  for (const auto& one : rank_places(machine, initiator, intent)) {
    if (one.rank >= ranks.size()) ranks.emplace_back();
    ranks.back().push_back(one.place);
  }
  return ranks;
}

std::optional<std::string> find_problem(const StatedOrdering& ordering, const std::vector<Place>& places) {
  if (ordering.ranks.empty()) return "it names no place; name at least one";
  std::vector<std::string> known;
  known.reserve(places.size());
  for (const auto& place : places) known.push_back(place.name);
  for (const auto& place : places)
    if (std::ranges::find(known, place.kind) == known.end()) known.push_back(place.kind);
  std::vector<std::string> seen;
  for (const auto& rank : ordering.ranks) {
    if (rank.names.empty()) return "a tie names no place; leave it out, or name its places";
    if (!rank.tie && rank.names.size() > 1) return "several places are in one rank that is not a tie";
    for (const auto& name : rank.names) {
      if (std::ranges::find(seen, name) != seen.end()) return "'" + name + "' is in it twice; keep one";
      seen.push_back(name);
      if (std::ranges::find(known, name) != known.end()) continue;
      const auto nearest = nearest_name(name, known);
      return "there is no place and no kind '" + name + "'" +
             (nearest.empty() ? "; there are " + join_names(known) : "; did you mean '" + nearest + "'?");
    }
  }
  return std::nullopt;
}

}  // namespace terrace::machine
