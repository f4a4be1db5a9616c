// What a world makes of hints: where data with reference counts lies before anything was learned, and what it
// notes of those that it could not use. See world.hpp and placement/hints.hpp.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/costs.hpp"
#include "runtime/world.hpp"
#include "strategy/hints/most_references.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

constexpr std::size_t k_most_named = 20;  // objects, in a note

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

}  // namespace

// Moves that gather the counted chunks where they are to lie: what leaves comes home first, so that the others
// find room. Whatever would find none stays where it is.
class World::Gathering {
 public:
  explicit Gathering(World& world)
      : world_(world),
        places_(world.parts_.machine->fastest_first(world.domain_)),
        home_(world.parts_.machine->home(world.domain_)),
        free_(world.parts_.machine->places().size()) {
    for (const auto place : places_) free_[place] = world.parts_.ledger->available(place).value;
  }

  void add(const observe::Object& object, double references) {
    for (std::uint32_t i = 0; i < object.chunks; ++i) {
      const auto chunk = object.first_chunk + i;
      const Bytes size{of(chunk).size};
      if (lies(chunk) == k_no_place) continue;
      counted_.push_back(
          {size, references * static_cast<double>(size.value) / static_cast<double>(object.size.value)});
      whose_.push_back({&object, i});
    }
  }
  // Without counts, in faster memory: it goes where there is no room for both.
  void add_guest(const observe::Object& object) {
    for (std::uint32_t i = 0; i < object.chunks; ++i)
      if (const auto place = lies(object.first_chunk + i); place != k_no_place && place != home_)
        guests_.push_back({&object, i});
  }
  [[nodiscard]] std::size_t chunks() const { return counted_.size(); }

  std::vector<strategy::ActiveMove> moves() {
    decide();
    make_room();
    for (std::size_t i = 0; i < whose_.size(); ++i)
      if (lies(chunk_of(whose_[i])) != home_ && lies(chunk_of(whose_[i])) != target_[i]) move(whose_[i], home_);
    for (const auto place : places_)
      for (std::size_t i = 0; i < whose_.size(); ++i)
        if (target_[i] == place && place != home_ && lies(chunk_of(whose_[i])) != place) move(whose_[i], place);
    return std::move(moves_);
  }

 private:
  struct Part {
    const observe::Object* object;
    std::uint32_t ordinal;
  };
  static ChunkId chunk_of(const Part& part) { return part.object->first_chunk + part.ordinal; }
  [[nodiscard]] const memory::Chunk& of(ChunkId chunk) const { return (*world_.parts_.chunks)[chunk]; }
  // Where it will lie when the moves so far are done.
  [[nodiscard]] PlaceId lies(ChunkId chunk) const {
    const auto moved = moved_.find(chunk);
    return moved != moved_.end() ? moved->second : of(chunk).place.load(std::memory_order_relaxed);
  }

  void decide() {
    std::vector<strategy::Shelf> shelves;
    for (const auto place : places_) {
      auto room = free_[place];
      for (const auto* parts : {&whose_, &guests_})
        for (const auto& part : *parts)
          if (lies(chunk_of(part)) == place) room += of(chunk_of(part)).size;
      shelves.push_back({Bytes{room}, world_.parts_.machine->line_time(world_.domain_, place).value});
    }
    const auto home = std::find(places_.begin(), places_.end(), home_) - places_.begin();
    for (const auto shelf : strategy::most_references(counted_, shelves, static_cast<std::uint32_t>(home)))
      target_.push_back(places_[shelf]);
  }

  // Guests that are in the way go home, those that were made last first.
  void make_room() {
    auto wanted = std::vector<std::uint64_t>(free_.size(), 0);
    auto leaving = wanted;
    for (std::size_t i = 0; i < whose_.size(); ++i) {
      const auto place = lies(chunk_of(whose_[i]));
      if (place == target_[i]) continue;
      wanted[target_[i]] += of(chunk_of(whose_[i])).size;
      leaving[place] += of(chunk_of(whose_[i])).size;
    }
    for (auto guest = guests_.rbegin(); guest != guests_.rend(); ++guest) {
      const auto place = lies(chunk_of(*guest));
      if (free_[place] + leaving[place] < wanted[place]) move(*guest, home_);
    }
  }

  void move(const Part& part, PlaceId to) {
    const auto chunk = chunk_of(part);
    const auto size = of(chunk).size;
    if (free_[to] < size) return;
    free_[to] -= size;
    free_[lies(chunk)] += size;
    moved_[chunk] = to;
    strategy::ChunkMove planned;
    planned.object = part.object->id;
    planned.chunk = part.ordinal;
    planned.to = to;
    planned.awaited = false;
    moves_.push_back({planned, chunk, part.object->id});
  }

  World& world_;
  std::vector<PlaceId> places_;  // fastest first
  PlaceId home_;
  std::vector<std::uint64_t> free_;  // by place
  std::vector<strategy::CountedChunk> counted_;
  std::vector<Part> whose_;  // by counted chunk
  std::vector<Part> guests_;
  std::vector<PlaceId> target_;  // by counted chunk
  std::map<ChunkId, PlaceId> moved_;
  std::vector<strategy::ActiveMove> moves_;
};

void World::hinted(const observe::ProgramHint& hint) {
  hints_.tell(hint);
  hints_are_new_ = true;
}

// Who decides by something else than what it learns takes no part in this: baselines, policies, plans.
bool World::heeds_counts() const {
  if (parts_.steering.plan || parts_.steering.record_only || parts_.policy) return false;
  return strategy::find_planner(parts_.steering.planner).needs_profile();
}

strategy::Expression::Outcome World::references(const strategy::Count& count,
                                                const std::vector<observe::Object>& objects) const {
  const auto bytes = [&](const std::string& name) -> std::optional<double> {
    double sum = 0;
    bool any = false;
    for (const auto& object : objects) {
      if (!object.live || !model::names(name, object.name)) continue;
      sum += static_cast<double>(object.size.value);
      any = true;
    }
    return any ? std::optional(sum) : std::nullopt;
  };
  auto outcome = count.references.evaluate({[&](const std::string& name) { return hints_.value(name); }, bytes});
  if (outcome.problem.empty() && outcome.value < 0) outcome.problem = "it is negative, " + number(outcome.value);
  return outcome;
}

// When data is made: what has references goes to the fastest memory with room, as far as it goes; what has none,
// or is not known to have any yet, lies at home, where it takes no room from what has. The loop's begin puts right
// what came in a poor order.
World::Stretch World::counted_stretch(const observe::Object& object, std::uint32_t ordinal,
                                      const std::vector<observe::Object>& objects) {
  const auto left = object.chunks - ordinal;
  const auto home = parts_.machine->home(domain_);
  const auto* const count = hints_.count_of(object.name);
  const auto outcome = count ? references(*count, objects) : strategy::Expression::Outcome{};
  if (outcome.problem.empty() && outcome.value > 0) {
    for (const auto place : parts_.machine->fastest_first(domain_)) {
      const auto room = parts_.ledger->available(place).value / object.chunk_size.value;
      if (place == home) break;
      if (room > 0) return {place, static_cast<std::uint32_t>(std::min<std::uint64_t>(room, left))};
    }
  }
  return {home, left};
}

// All objects are made and all values known, as far as they will be: what is referred to most lies in fast memory
// before the first iteration begins, and is waited for.
void World::place_counted(const std::vector<observe::Object>& objects) {
  if (!std::exchange(hints_are_new_, false) || parts_.steering.record_only) return;
  if (!heeds_counts()) {
    const auto who = parts_.steering.plan ? std::string("the plan that was given")
                                          : "the planner '" + parts_.steering.planner + "'";
    return note("note",
                "hints: " + who + " places data its own way; reference counts and directives take no part");
  }
  Gathering gathering(*this);
  std::vector<std::pair<double, const observe::Object*>> counted;
  std::set<std::string> unknown;
  for (const auto& object : objects) {
    if (!object.live) continue;
    const auto* const count = hints_.count_of(object.name);
    const auto outcome = count ? references(*count, objects) : strategy::Expression::Outcome{};
    if (count && !outcome.problem.empty() && unknown.insert(count->object).second)
      note("warning", "hints: the references of '" + count->object + "', " + count->references.text() +
                          ", are not known: " + outcome.problem + "; it takes no part in the initial placement");
    if (count && outcome.problem.empty()) {
      gathering.add(object, outcome.value);
      counted.emplace_back(outcome.value, &object);
    } else {
      gathering.add_guest(object);
    }
  }
  if (counted.empty()) return;
  parts_.clock->charge(static_cast<double>(gathering.chunks()) * model::k_plan_cost);
  auto moves = gathering.moves();
  ask(moves, 0);
  if (!pending_.empty()) parts_.mover->wait(first_pending_ + pending_.size() - 1);
  write_moves();
  note_counted(std::move(counted));
}

void World::note_counted(std::vector<std::pair<double, const observe::Object*>> counted) {
  std::stable_sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto home = parts_.machine->home(domain_);
  std::string text = "initial placement by reference counts:";
  for (std::size_t i = 0; i < std::min(counted.size(), k_most_named); ++i) {
    const auto& [references, object] = counted[i];
    text += (i == 0 ? " '" : "; '") + object->name + "' " + number(references) + ", ";
    std::string places;
    for (const auto place : parts_.machine->fastest_first(domain_)) {
      std::uint64_t size = 0;
      for (auto chunk = object->first_chunk; chunk < object->first_chunk + object->chunks; ++chunk)
        if ((*parts_.chunks)[chunk].place.load(std::memory_order_relaxed) == place)
          size += (*parts_.chunks)[chunk].size;
      if (size > 0 && (place != home || places.empty()))
        places +=
            (places.empty() ? "" : " and ") + format(Bytes{size}) + " in " + parts_.machine->place(place).name;
    }
    text += places;
  }
  if (counted.size() > k_most_named) text += "; and " + std::to_string(counted.size() - k_most_named) + " more";
  note("note", text);
}

void World::note_unused_hints(const std::vector<observe::Object>& objects) {
  if (hints_.empty() || !heeds_counts()) return;
  std::vector<std::string> names;
  names.reserve(objects.size());
  for (const auto& object : objects) names.push_back(object.name);
  for (const auto& sentence : hints_.unused(names, {phase_names_.begin(), phase_names_.end()}))
    note("warning", sentence);
}

}  // namespace terrace::runtime
