// The schema of plan files, and reading and writing them.
#include "strategy/files/plan_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "core/error.hpp"
#include "machine/file/toml_table.hpp"

namespace terrace::strategy {
namespace {

using machine::TomlTable;

constexpr std::int64_t k_most_chunks = 1 << 24;
constexpr std::int64_t k_most_phases = 1 << 20;
constexpr std::int64_t k_most_draws = 1 << 20;

// "3", "0-15".
Span get_span(const TomlTable& table, std::string_view key, std::uint32_t chunks) {
  const auto text = table.text(key);
  std::uint32_t first = 0, last = 0;
  const auto* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, first);
  last = first;
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == '-')
    read = std::from_chars(read.ptr + 1, end, last);
  if (read.ec != std::errc{} || read.ptr != end || last < first) {
    table.refuse(key, "'" + text.substr(0, 40) + "' is no span of chunks; write for example \"0-15\" or \"3\"");
  }
  if (last >= chunks) {
    table.refuse(key, "reaches to chunk " + std::to_string(last) + ", but the object has " +
                          std::to_string(chunks) + " (0 to " + std::to_string(chunks - 1) + ")");
  }
  return {first, last - first + 1};
}

double get_number(const TomlTable& table, std::string_view key, double least) {
  if (!table.has(key)) return 0;
  const auto value = table.number(key, least);
  if (!std::isfinite(value)) table.refuse(key, "is not finite; give a number");
  return value;
}

// A share of the draws.
std::optional<double> get_confidence(const TomlTable& table) {
  if (!table.has("confidence")) return std::nullopt;
  const auto value = get_number(table, "confidence", 0);
  if (value > 1) table.refuse("confidence", "is a share of the draws, from 0 to 1");
  return value;
}

std::vector<double> get_paces(const TomlTable& table, std::size_t phases) {
  auto rate_limits = table.numbers("rate_limits");
  if (!rate_limits.empty() && rate_limits.size() != phases)
    table.refuse("rate_limits", "has " + std::to_string(rate_limits.size()) + " numbers for " +
                                    std::to_string(phases) + " phases; give each its own, or none");
  if (!std::all_of(rate_limits.begin(), rate_limits.end(), is_rate_limit))
    table.refuse("rate_limits", "are shares of full speed, above 0 and at most 1");
  return rate_limits;
}

Repeat get_repeat(const TomlTable& table, const std::vector<std::string>& phases) {
  table.allow_only({"last", "from"});
  const auto most = std::max(static_cast<std::int64_t>(phases.size()) - 1, std::int64_t{0});
  const Repeat repeat{static_cast<std::uint32_t>(table.integer("last", 0, most)),
                      static_cast<std::uint32_t>(table.integer("from", 0, most))};
  if (!is_repeat(phases, repeat))
    table.refuse("last", "is to be the last segment of a phase, and from an earlier one of the same phase");
  return repeat;
}

void get_regret(const TomlTable& table, Plan& plan) {
  if (table.has("draws")) plan.draws = static_cast<std::uint32_t>(table.integer("draws", 1, k_most_draws));
  for (const auto* key : {"regret", "regret_low", "regret_high"}) {
    if (table.has(key) && plan.draws == 0) table.refuse(key, "is found by draws; say how many: draws = 100");
  }
  plan.regret = Seconds{get_number(table, "regret", 0)};
  plan.regret_low = Seconds{get_number(table, "regret_low", 0)};
  plan.regret_high = Seconds{get_number(table, "regret_high", 0)};
  if (plan.regret_high < plan.regret_low) table.refuse("regret_high", "is below regret_low");
}

Seconds get_benefit(const TomlTable& table) { return Seconds{get_number(table, "benefit", -1e300)}; }

PlanObject get_object(const TomlTable& table) {
  table.allow_only({"name", "size", "chunks", "pin", "place", "benefit", "confidence", "part"});
  PlanObject object;
  object.name = table.text("name");
  if (table.has("size")) object.size = table.size("size");
  if (table.has("chunks")) object.chunks = static_cast<std::uint32_t>(table.integer("chunks", 1, k_most_chunks));
  if (table.has("pin")) object.pinned = table.flag("pin");
  if (table.has("place")) {
    if (table.has("part")) table.refuse("place", "an object has one place or [[object.part]]s, not both");
    object.parts.push_back({{0, object.chunks}, table.name("place"), get_benefit(table), get_confidence(table)});
  }
  for (const auto* key : {"benefit", "confidence"}) {
    if (table.has(key) && object.parts.empty())
      table.refuse(key, "is of a place; give the object one, or each [[object.part]] its own");
  }
  for (const auto& part : table.entries("part")) {
    part.allow_only({"chunks", "place", "benefit", "confidence"});
    const auto span = get_span(part, "chunks", object.chunks);
    if (!object.parts.empty()) {
      const auto& last = object.parts.back().chunks;
      if (span.first < last.first + last.count)
        part.refuse("chunks", "overlaps the part before it; keep parts in order");
    }
    object.parts.push_back({span, part.name("place"), get_benefit(part), get_confidence(part)});
  }
  return object;
}

PlanMove get_move(const TomlTable& table, const Plan& plan, const std::map<std::string, std::uint32_t>& objects) {
  table.allow_only({"object", "chunks", "to", "ask", "need", "benefit", "cost"});
  PlanMove move;
  const auto name = table.text("object");
  const auto found = objects.find(name);
  if (found == objects.end())
    table.refuse("object", "'" + name.substr(0, 60) + "' is none of the plan's [[object]]s");
  move.object = found->second;
  const auto& object = plan.objects[move.object];
  if (object.pinned)
    table.refuse("object", "'" + name.substr(0, 60) + "' is pinned and never moves; remove pin or move");
  move.chunks = table.has("chunks") ? get_span(table, "chunks", object.chunks) : Span{0, object.chunks};
  move.to = table.name("to");
  if (plan.phases.empty()) table.refuse("ask", "a plan with moves has to name its phases: phases = [\"...\"]");
  const auto phases = static_cast<std::int64_t>(plan.phases.size());
  move.ask = static_cast<std::uint32_t>(table.integer("ask", 0, phases - 1));
  move.awaited = table.has("need");
  move.need = move.awaited ? static_cast<std::uint32_t>(table.integer("need", 0, phases - 1))
                           : move.ask + static_cast<std::uint32_t>(phases);
  move.benefit = get_benefit(table);
  move.cost = Seconds{get_number(table, "cost", 0)};
  return move;
}

Plan get_plan(const TomlTable& table) {
  table.allow_only({"schema", "planner", "machine", "loop", "progress", "budget", "phases", "rate_limits",
                    "predicted", "predicted_slow", "lower_bound", "gap", "draws", "regret", "regret_low",
                    "regret_high", "object", "move", "repeat"});
  Plan plan;
  if (table.has("schema")) static_cast<void>(table.integer("schema", 1, 1));
  plan.planner = table.has("planner") ? table.text("planner") : "hand";
  if (table.has("machine")) plan.machine = table.text("machine");
  if (table.has("loop")) plan.loop = table.text("loop");
  if (table.has("progress")) plan.progress = table.text("progress");
  if (table.has("budget")) plan.budget = table.texts("budget");
  if (table.has("phases")) plan.phases = table.texts("phases");
  if (static_cast<std::int64_t>(plan.phases.size()) > k_most_phases) table.refuse("phases", "there are too many");
  if (table.has("rate_limits")) plan.rate_limits = get_paces(table, plan.phases.size());
  plan.predicted = Seconds{get_number(table, "predicted", 0)};
  plan.predicted_slow = Seconds{get_number(table, "predicted_slow", 0)};
  plan.lower_bound = Seconds{get_number(table, "lower_bound", 0)};
  plan.gap = get_number(table, "gap", 0);
  get_regret(table, plan);
  for (const auto& entry : table.entries("repeat")) plan.repeats.push_back(get_repeat(entry, plan.phases));
  std::map<std::string, std::uint32_t> objects;
  for (const auto& entry : table.entries("object")) {
    auto object = get_object(entry);
    if (!objects.emplace(object.name, plan.objects.size()).second) {
      entry.refuse("name", "there is an object of this name already; give each once");
    }
    plan.objects.push_back(std::move(object));
  }
  for (const auto& entry : table.entries("move")) plan.moves.push_back(get_move(entry, plan, objects));
  return plan;
}

}  // namespace

Plan parse_plan(std::string_view text, const std::string& file_name) {
  try {
    const auto table = toml::parse(text, file_name);
    return get_plan(TomlTable(table, file_name, ""));
  } catch (const toml::parse_error& error) {
    machine::refuse_unparsed(error, file_name);
  }
}

Plan read_plan_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    throw Error(Code::not_found, path.string() + ": there is no such plan; `terrace plan` writes one");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw Error(Code::failed, path.string() + ": cannot be read: " + std::strerror(errno));
  return parse_plan(text.str(), path.string());
}

void write_plan_file(const std::filesystem::path& path, const Plan& plan) {
  const auto beside = path.string() + "." + std::to_string(::getpid()) + ".part";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << format_plan(plan);
    file.flush();
    if (!file) {
      const std::string reason = std::strerror(errno);
      std::error_code ignored;
      std::filesystem::remove(beside, ignored);
      throw Error(Code::failed, path.string() + ": cannot be written: " + reason);
    }
  }
  std::error_code problem;
  std::filesystem::rename(beside, path, problem);
  if (problem) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw Error(Code::failed, path.string() + ": cannot be written: " + problem.message());
  }
}

}  // namespace terrace::strategy
