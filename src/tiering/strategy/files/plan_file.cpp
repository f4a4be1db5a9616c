// SPDX-License-Identifier: Apache-2.0
// Reads plan files (--plan FILE) by their schema, and writes them, for the launcher and, through the Python
// bindings, for `terrace plan`. See plan_file.hpp.
#include "strategy/files/plan_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/atomic_file.hpp"
#include "core/error.hpp"
#include "machine/file/toml_table.hpp"
#include "machine/nearest_name.hpp"
#include "strategy/files/plan_timeline.hpp"

namespace terrace::strategy {
namespace {

using machine::TomlTable;

constexpr std::int64_t k_max_chunks = 1 << 24;
constexpr std::int64_t k_max_draws = 1 << 20;
constexpr std::int64_t k_schema = 2;

// Rejects keys of schema 1 that schema 2 does not have.
void refuse_earlier(const TomlTable& table, const std::vector<const char*>& keys) {
  for (const auto* key : keys)
    if (table.has(key))
      table.refuse(
          key,
          "is of the earlier format of plan files, schema 1, whose segments had other names; make the plan "
          "again: terrace plan FILE.terrace -o PLAN.toml");
}

// The entries of [internals] by name, for an object's parts or a segment's moves.
using Internals = std::map<std::string, TomlTable>;

// Parses lists of chunks: "3", "0-15", "0-6, 20, 25".
std::vector<Span> get_spans(const TomlTable& table, std::string_view key, std::uint32_t chunks) {
  const auto text = table.text(key);
  std::vector<Span> spans;
  const auto* at = text.data();
  const auto* end = at + text.size();
  for (;;) {
    std::uint32_t first = 0, last = 0;
    auto read = std::from_chars(at, end, first);
    last = first;
    if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-')
      read = std::from_chars(read.ptr + 1, end, last);
    if (read.ec != std::errc{} || last < first || (read.ptr != end && *read.ptr != ','))
      table.refuse(key, in_quotes(text) + " are no chunks; write for example \"3\", \"0-15\" or \"0-6, 20\"");
    if (last >= chunks)
      table.refuse(key, "reaches to chunk " + std::to_string(last) + ", but the object has " +
                            std::to_string(chunks) + " (0 to " + std::to_string(chunks - 1) + ")");
    spans.push_back({first, last - first + 1});
    if (read.ptr == end) return spans;
    for (at = read.ptr + 1; at != end && *at == ' ';) ++at;
  }
}

double get_number(const TomlTable& table, std::string_view key, double least) {
  return table.has(key) ? table.number(key, least) : 0;
}

void get_regret(const TomlTable& table, Plan& plan) {
  if (table.has("draws")) plan.draws = static_cast<std::uint32_t>(table.integer("draws", 1, k_max_draws));
  for (const auto* key : {"regret", "regret_low", "regret_high"}) {
    if (table.has(key) && plan.draws == 0) table.refuse(key, "is found by draws; say how many: draws = 100");
  }
  plan.regret = Seconds{get_number(table, "regret", 0)};
  plan.regret_low = Seconds{get_number(table, "regret_low", 0)};
  plan.regret_high = Seconds{get_number(table, "regret_high", 0)};
  if (plan.regret_high < plan.regret_low) table.refuse("regret_high", "is below regret_low");
}

// Returns the entries of [internals] by name. They may differ from the plan's if the user has edited the file.
Internals get_entries(const TomlTable& internals, const char* key, const std::vector<std::string>& keys) {
  Internals entries;
  for (const auto& entry : internals.entries(key)) {
    entry.allow_only(keys);
    if (!entries.emplace(entry.text("name"), entry).second)
      entry.refuse("name", "stands there twice; delete one of the two lines");
  }
  return entries;
}

// Returns `count` numbers, or none if the file has another count because the user has edited the plan.
std::vector<double> get_numbers(const TomlTable& table, const char* key, std::size_t count) {
  if (!table.has(key)) return {};
  auto numbers = table.numbers(key);
  if (numbers.size() != count) numbers.clear();
  return numbers;
}

// Parses {dram = "0-6, 20", hbm = "7"}.
void get_parts(const TomlTable& table, PlanObject& object) {
  const auto parts = table.table("parts");
  std::map<std::uint32_t, std::string> keys;  // by first chunk
  for (const auto& place : parts.keys()) {
    if (place.empty() || place.size() > 200) parts.refuse(place, "is no name of a place");
    for (const auto& span : get_spans(parts, place, object.chunks)) {
      if (!keys.emplace(span.first, place).second)
        parts.refuse(place, "has chunk " + std::to_string(span.first) + ", which stands there twice");
      object.parts.push_back({span, place, {}, {}});
    }
  }
  std::ranges::sort(object.parts, {}, [](const PlanPart& part) { return part.chunks.first; });
  for (std::size_t p = 1; p < object.parts.size(); ++p)
    if (const auto& last = object.parts[p - 1].chunks; object.parts[p].chunks.first < last.first + last.count)
      parts.refuse(object.parts[p].place,
                   "has chunk " + std::to_string(object.parts[p].chunks.first) + ", which stands there twice");
}

PlanObject get_object(const TomlTable& table, const Internals& internals) {
  refuse_earlier(table, {"part", "benefit", "confidence"});
  table.allow_only({"name", "size", "chunks", "pin", "place", "parts"});
  PlanObject object;
  object.name = table.text("name");
  if (table.has("size")) object.size = table.size("size");
  if (table.has("chunks")) object.chunks = static_cast<std::uint32_t>(table.integer("chunks", 1, k_max_chunks));
  if (table.has("pin")) object.pinned = table.flag("pin");
  if (table.has("place")) {
    if (table.has("parts"))
      table.refuse("place", "an object has one place, or parts, not both; delete one of them");
    object.parts.push_back({{0, object.chunks}, table.name("place"), {}, {}});
  } else if (table.has("parts")) {
    get_parts(table, object);
  }
  const auto found = internals.find(object.name);
  if (found == internals.end()) return object;
  const auto count = object.parts.size();
  const auto benefits = get_numbers(found->second, "benefits", count);
  const auto confidences = get_numbers(found->second, "confidences", count);
  for (std::size_t p = 0; p < benefits.size(); ++p) object.parts[p].benefit = Seconds{benefits[p]};
  for (std::size_t p = 0; p < confidences.size(); ++p) {
    if (!(confidences[p] >= 0 && confidences[p] <= 1))
      found->second.refuse("confidences", "are shares of the draws, from 0 to 1; delete this key");
    object.parts[p].confidence = confidences[p];
  }
  return object;
}

// A move as the file lists it: requested where its segment begins, and done before the point that needs it.
struct FileMove {
  PlanMove move;
  PlanTimeline::Point requested_at, needed_at;
};

// Reads the [[segment]] tables, and writes their moves into the plan once all points of the timeline are known.
class Moves {
 public:
  Moves(Plan& plan, PlanTimeline& timeline, const TomlTable& internals)
      : plan_(plan),
        timeline_(timeline),
        internals_(get_entries(internals, "segment", {"name", "order", "benefits", "costs"})) {
    for (std::uint32_t o = 0; o < plan.objects.size(); ++o) objects_.emplace(plan.objects[o].name, o);
  }

  void read(const TomlTable& segment) {
    segment.allow_only({"name", "begins_with", "moves"});
    const auto at = timeline_.point(segment, "name");
    if (!by_segment_.try_emplace(at).second)
      segment.refuse("name", in_quotes(segment.text("name")) + " is there already; put all its moves together");
    auto& moves = by_segment_[at];
    for (const auto& entry : segment.entries("moves")) add(entry, at, moves);
    const auto found = internals_.find(segment.text("name"));
    if (found != internals_.end()) amend(found->second, moves);
    if (segment.has("begins_with")) read_sentinel(segment.table("begins_with"), at);
  }

  // Writes the moves into the plan, in the order of the iteration.
  void put() {
    for (auto& [point, sentinel] : sentinels_) {
      sentinel.segment = timeline_.position(point);
      plan_.sentinels.push_back(sentinel);
    }
    const auto phases = static_cast<std::uint32_t>(plan_.phases.size());
    for (auto& [point, moves] : by_segment_)
      for (auto& entry : moves) {
        entry.move.ask = timeline_.position(entry.requested_at);
        entry.move.need = entry.move.awaited ? timeline_.position(entry.needed_at) : entry.move.ask + phases;
        plan_.moves.push_back(std::move(entry.move));
      }
  }

 private:
  // Reads the sentinel of the segment that begins at `at`.
  void read_sentinel(const TomlTable& table, const PlanTimeline::Point& at) {
    table.allow_only({"object", "chunk"});
    const auto object = object_of(table);
    const auto chunks = static_cast<std::int64_t>(plan_.objects[object].chunks);
    sentinels_[at] = {0, object, static_cast<std::uint32_t>(table.integer("chunk", 0, chunks - 1))};
  }

  // Returns the index of the object that the table names; refuses unknown names with the nearest one.
  std::uint32_t object_of(const TomlTable& table) {
    const auto name = table.text("object");
    const auto found = objects_.find(name);
    if (found == objects_.end()) {
      std::vector<std::string> names;
      for (const auto& [known, o] : objects_) names.push_back(known);
      const auto nearest = machine::nearest_name(name, names);
      table.refuse("object",
                   in_quotes(name) + " is none of the plan's [[object]]s; " +
                       (nearest.empty() ? "add one of that name" : "did you mean " + in_quotes(nearest) + "?"));
    }
    return found->second;
  }

  void add(const TomlTable& table, const PlanTimeline::Point& at, std::vector<FileMove>& moves) {
    table.allow_only({"object", "chunks", "to", "before"});
    const auto number = object_of(table);
    const auto& object = plan_.objects[number];
    const auto& name = object.name;
    if (object.pinned) table.refuse("object", in_quotes(name) + " is pinned and never moves; remove pin or move");
    FileMove entry;
    entry.requested_at = at;
    entry.move.object = number;
    entry.move.to = table.name("to");
    entry.move.awaited = table.has("before");
    if (entry.move.awaited) entry.needed_at = timeline_.point(table, "before");
    const auto spans =
        table.has("chunks") ? get_spans(table, "chunks", object.chunks) : std::vector<Span>{{0, object.chunks}};
    for (const auto& span : spans) {
      entry.move.chunks = span;
      moves.push_back(entry);
    }
  }

  // Applies the benefits, costs and order of [internals] to the moves.
  static void amend(const TomlTable& table, std::vector<FileMove>& moves) {
    const auto benefits = get_numbers(table, "benefits", moves.size());
    const auto costs = get_numbers(table, "costs", moves.size());
    if (std::ranges::any_of(costs, [](double cost) { return cost < 0; }))
      table.refuse("costs", "are seconds, from 0 on; delete this key");
    for (std::size_t m = 0; m < benefits.size(); ++m) moves[m].move.benefit = Seconds{benefits[m]};
    for (std::size_t m = 0; m < costs.size(); ++m) moves[m].move.cost = Seconds{costs[m]};
    const auto order = get_numbers(table, "order", moves.size());
    if (order.empty()) return;
    std::vector<FileMove> ordered(moves.size());
    std::vector<bool> met(moves.size(), false);
    for (std::size_t m = 0; m < order.size(); ++m) {
      const auto to = order[m] >= 0 && order[m] < static_cast<double>(moves.size())
                          ? static_cast<std::size_t>(order[m])
                          : moves.size();
      if (to == moves.size() || static_cast<double>(to) != order[m] || met[to])
        table.refuse("order", "has to have each number from 0 to " + std::to_string(moves.size() - 1) +
                                  " once; delete this key");
      met[to] = true;
      ordered[to] = std::move(moves[m]);
    }
    moves = std::move(ordered);
  }

  Plan& plan_;
  PlanTimeline& timeline_;
  Internals internals_;                           // by label of the segment
  std::map<std::string, std::uint32_t> objects_;  // by name
  std::map<PlanTimeline::Point, std::vector<FileMove>> by_segment_;
  std::map<PlanTimeline::Point, PlanSentinel> sentinels_;
};

void get_internals(const TomlTable& table, Plan& plan) {
  table.allow_only({"predicted", "predicted_slow", "predicted_before", "lower_bound", "gap", "draws", "regret",
                    "regret_low", "regret_high", "phase", "object", "segment"});
  plan.predicted = Seconds{get_number(table, "predicted", 0)};
  plan.predicted_slow = Seconds{get_number(table, "predicted_slow", 0)};
  plan.predicted_before = Seconds{get_number(table, "predicted_before", 0)};
  plan.lower_bound = Seconds{get_number(table, "lower_bound", 0)};
  plan.gap = get_number(table, "gap", 0);
  get_regret(table, plan);
}

Plan get_plan(const TomlTable& table) {
  refuse_earlier(table, {"move", "repeat", "rate_limits", "predicted", "predicted_slow", "lower_bound", "gap",
                         "draws", "regret", "regret_low", "regret_high"});
  table.allow_only(
      {"schema", "planner", "machine", "loop", "progress", "budget", "phases", "object", "segment", "internals"});
  Plan plan;
  if (table.has("schema")) static_cast<void>(table.integer("schema", 1, k_schema));
  plan.planner = table.has("planner") ? table.text("planner") : "hand";
  if (table.has("machine")) plan.machine = table.text("machine");
  if (table.has("loop")) plan.loop = table.text("loop");
  if (table.has("progress")) plan.progress = table.text("progress");
  if (table.has("budget")) plan.budget = table.texts("budget");
  static const toml::table k_nothing;
  const auto internals = table.has("internals") ? table.table("internals") : TomlTable(k_nothing, "", "");
  get_internals(internals, plan);
  const auto of_objects = get_entries(internals, "object", {"name", "benefits", "confidences"});
  std::set<std::string> names;
  for (const auto& entry : table.entries("object")) {
    plan.objects.push_back(get_object(entry, of_objects));
    if (!names.insert(plan.objects.back().name).second)
      entry.refuse("name", "there is an object of this name already; give each once");
  }
  PlanTimeline timeline(table);
  Moves moves(plan, timeline, internals);
  for (const auto& entry : table.entries("segment")) moves.read(entry);
  timeline.put(plan);
  moves.put();
  return plan;
}

}  // namespace

Plan parse_plan(std::string_view text, const std::string& file_name) {
  try {
    const auto table = toml::parse(text, file_name);
    return get_plan(TomlTable(table, file_name, ""));
  } catch (const toml::parse_error& error) {
    machine::throw_parse_error(error, file_name);
  }
}

Plan read_plan_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(Code::not_found, path.string() + ": there is no such plan; `terrace plan` writes one");
  }
  if (std::filesystem::is_directory(path, ignored))
    throw Error(Code::invalid, path.string() + ": is a folder, and no plan; `terrace plan` writes one");
  std::ifstream file(path, std::ios::binary);
  if (file.peek() == std::ifstream::traits_type::eof() && !file.bad())
    throw Error(Code::invalid, path.string() + ": is empty, and no plan; `terrace plan` writes one");
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(Code::failed, path.string() + ": cannot be read: " + std::strerror(errno));
  return parse_plan(text.str(), path.string());
}

void check_places(const Plan& plan, const machine::Machine& machine, const std::string& file_name) {
  const auto kinds = machine.kinds();
  const auto check = [&](const PlanObject& object, const std::string& word) {
    if (machine.find_place(word) || std::ranges::find(kinds, word) != kinds.end()) return;
    throw Error(Code::invalid, file_name + ": object " + in_quotes(object.name) + ": place " + in_quotes(word) +
                                   " is neither a kind nor a place of machine '" + machine.name() +
                                   "'; there are " + machine::list_kinds_and_places(machine) +
                                   "; `terrace plan PROFILE --machine FILE` makes one for it");
  };
  for (const auto& object : plan.objects)
    for (const auto& part : object.parts) check(object, part.place);
  for (const auto& move : plan.moves) check(plan.objects[move.object], move.to);
}

void write_plan_file(const std::filesystem::path& path, const Plan& plan) {
  const auto failed = write_file_atomically(path, format_plan(plan));
  if (!failed.empty()) throw Error(Code::failed, path.string() + ": cannot be written: " + failed);
}

}  // namespace terrace::strategy
