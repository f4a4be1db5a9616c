// SPDX-License-Identifier: Apache-2.0
// Reads the phases and segments (parts of a phase) of a plan file, and resolves the labels and shares of phases
// that its moves name, for the reader of plan files. See plan_timeline.hpp.
#include "strategy/files/plan_timeline.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/segment_labels.hpp"
#include "core/segment_name.hpp"
#include "machine/nearest_name.hpp"

namespace terrace::strategy {
namespace {

using machine::TomlTable;

constexpr std::size_t k_max_phases = 1 << 20;
constexpr std::int64_t k_max_accesses = std::int64_t{1} << 53;  // max integer that a double represents exactly

// Reads the offsets of segments: ascending integers.
std::vector<std::uint64_t> get_offsets(const TomlTable& table) {
  std::vector<std::uint64_t> offsets;
  if (!table.has("segments")) return offsets;
  for (const auto number : table.numbers("segments")) {
    const bool whole =
        number >= 1 && number <= static_cast<double>(k_max_accesses) && number == std::floor(number);
    if (!whole || (!offsets.empty() && number <= static_cast<double>(offsets.back())))
      table.refuse("segments", "are whole numbers of accesses that ascend, from 1 on; delete this phase's line");
    offsets.push_back(static_cast<std::uint64_t>(number));
  }
  return offsets;
}

}  // namespace

std::string in_quotes(const std::string& text) {
  auto shown = text.substr(0, 60);
  for (auto& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return "'" + shown + "'";
}

PlanTimeline::PlanTimeline(const TomlTable& file) {
  if (file.has("phases")) read_phases(file);
  if (file.has("internals"))
    for (const auto& phase : file.table("internals").entries("phase")) read_internals(phase);
  const auto labels = segment_labels(names(), lengths());
  learn_lengths();
  std::size_t k = 0;
  for (std::uint32_t p = 0; p < phases_.size(); ++p)
    for (const auto& [offset, limit] : phases_[p].rate_limits) labels_[labels[k++]] = {p, offset};
}

void PlanTimeline::read_phases(const TomlTable& file) {
  const auto add = [&](const TomlTable& table, const char* key, std::string name, std::uint64_t length) {
    if (segment_offset(name) != 0)
      table.refuse(key, in_quotes(name) + " ends like a segment of the earlier format; write the phase's name, " +
                            in_quotes(std::string(phase_of_segment(name))) +
                            ", once, or make the plan again: terrace plan FILE.terrace -o PLAN.toml");
    phases_.push_back({std::move(name), {}, length, {{0, 1}}, {}, {}, {}});
  };
  if (file.holds_texts("phases")) {
    for (auto& name : file.texts("phases")) add(file, "phases", std::move(name), 0);
  } else {
    for (const auto& phase : file.entries("phases")) {
      phase.allow_only({"name", "length"});
      const auto length = phase.has("length") ? phase.integer("length", 1, k_max_accesses) : 0;
      add(phase, "name", phase.text("name"), static_cast<std::uint64_t>(length));
    }
  }
  if (phases_.size() > k_max_phases) file.refuse("phases", "has more than 1,048,576 phases; plan fewer");
  std::vector<std::string> names;
  for (const auto& phase : phases_) names.push_back(phase.name);
  const auto labels = phase_labels(names);
  for (std::uint32_t p = 0; p < phases_.size(); ++p) {
    phases_[p].label = labels[p];
    of_label_[labels[p]] = p;
  }
}

// Skips phases that the file does not have, because the user has deleted them.
void PlanTimeline::read_internals(const TomlTable& table) {
  table.allow_only({"name", "segments", "rate_limits", "times", "again_from"});
  const auto found = of_label_.find(table.text("name"));
  const auto offsets = get_offsets(table);
  const auto limits = table.has("rate_limits") ? table.numbers("rate_limits") : std::vector<double>();
  if (!limits.empty() && limits.size() != offsets.size() + 1)
    table.refuse("rate_limits", "has " + std::to_string(limits.size()) + " numbers for " +
                                    std::to_string(offsets.size() + 1) +
                                    " segments, the phase's beginning among them; delete this key");
  if (!std::ranges::all_of(limits, is_rate_limit))
    table.refuse("rate_limits", "are shares of full speed, above 0 and at most 1; delete this key");
  const auto times = table.has("times") ? table.numbers("times") : std::vector<double>();
  if (!times.empty() && times.size() != offsets.size() + 1)
    table.refuse("times", "has " + std::to_string(times.size()) + " numbers for " +
                              std::to_string(offsets.size() + 1) +
                              " segments, the phase's beginning among them; delete this key");
  if (!std::ranges::all_of(times, [](double time) { return time >= 0; }))
    table.refuse("times", "are seconds, from 0 on; delete this key");
  const auto again = table.has("again_from") ? table.text("again_from") : std::string();
  if (found == of_label_.end()) return;
  auto& phase = phases_[found->second];
  limited_ = limited_ || !limits.empty();
  phase.again_from = again;
  timed_ = timed_ || !times.empty();
  phase.times = times;
  if (!times.empty()) phase.timed = {0};
  if (!times.empty()) phase.timed.insert(phase.timed.end(), offsets.begin(), offsets.end());
  phase.rate_limits = {{0, limits.empty() ? 1 : limits[0]}};
  for (std::size_t s = 0; s < offsets.size(); ++s)
    phase.rate_limits[offsets[s]] = limits.empty() ? 1 : limits[s + 1];
}

std::optional<PlanTimeline::Point> PlanTimeline::known(const std::string& label) const {
  const auto found = labels_.find(label);
  return found == labels_.end() ? std::nullopt : std::optional(found->second);
}

PlanTimeline::Point PlanTimeline::point(const TomlTable& table, const char* key) {
  const auto text = table.text(key);
  if (const auto exact = known(text)) return *exact;
  if (const auto found = share(table, key, text)) return *found;
  if (phases_.empty())
    table.refuse(key, "a plan with moves has to name the phases of an iteration: phases = [\"...\"]");
  std::vector<std::string> labels;
  for (const auto& [label, point] : labels_) labels.push_back(label);
  const auto nearest = machine::nearest_name(text, labels);
  table.refuse(key, in_quotes(text) + " is no phase of this plan, and no share of one; " +
                        (nearest.empty() ? "write for example " + in_quotes(phases_[0].label) + " or " +
                                               in_quotes(phases_[0].label + " 12 %")
                                         : "did you mean " + in_quotes(nearest) + "?"));
}

// Parses shares of phases: "conj_grad 12 %", "matvec 3, 12.5 %".
std::optional<PlanTimeline::Point> PlanTimeline::share(const TomlTable& table, const char* key,
                                                       const std::string& text) {
  if (!text.ends_with(" %")) return std::nullopt;
  const auto space = text.rfind(' ', text.size() - 3);
  if (space == std::string::npos || space == 0) return std::nullopt;
  double percent = 0;
  const auto* end = text.data() + text.size() - 2;
  const auto read = std::from_chars(text.data() + space + 1, end, percent, std::chars_format::fixed);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  auto found = of_label_.find(text.substr(0, space));
  if (found == of_label_.end() && text[space - 1] == ',') found = of_label_.find(text.substr(0, space - 1));
  if (found == of_label_.end()) return std::nullopt;
  if (!(percent >= 0 && percent < 100))
    table.refuse(key, in_quotes(text) + " is no part of the phase; give a share from 0 to below 100 %");
  auto& phase = phases_[found->second];
  if (percent > 0 && phase.length == 0)
    table.refuse(
        key,
        "the length of phase " + in_quotes(phase.name) +
            " is unknown; state it in phases: { name = \"...\", length = ACCESSES }, or name the phase alone");
  const auto offset = static_cast<std::uint64_t>(std::llround(percent / 100 * static_cast<double>(phase.length)));
  const auto before = std::prev(phase.rate_limits.upper_bound(offset));
  phase.rate_limits.emplace(offset, before->second);
  return Point{found->second, offset};
}

std::vector<std::string> PlanTimeline::names() const {
  std::vector<std::string> names;
  for (const auto& phase : phases_)
    for (const auto& [offset, limit] : phase.rate_limits) names.push_back(segment_name(phase.name, offset));
  return names;
}

// Estimates the lengths of phases that have segments but no length in the file.
void PlanTimeline::learn_lengths() {
  const auto names = this->names();
  std::uint32_t k = 0;
  for (auto& phase : phases_) {
    if (phase.length == 0) phase.length = static_cast<std::uint64_t>(std::llround(phase_length(names, {}, k)));
    k += static_cast<std::uint32_t>(phase.rate_limits.size());
  }
}

std::vector<std::uint64_t> PlanTimeline::lengths() const {
  const auto names = this->names();
  std::vector<std::uint64_t> lengths(names.size(), 0);
  std::uint32_t k = 0;
  for (const auto& phase : phases_) {
    const auto said = std::llround(phase_length(names, {}, k));
    if (phase.length != static_cast<std::uint64_t>(said)) lengths[k] = phase.length;
    k += static_cast<std::uint32_t>(phase.rate_limits.size());
  }
  if (std::ranges::all_of(lengths, [](auto length) { return length == 0; })) lengths.clear();
  return lengths;
}

std::uint32_t PlanTimeline::position(const Point& point) const {
  const auto& segments = phases_[point.phase].rate_limits;
  return begins_[point.phase] +
         static_cast<std::uint32_t>(std::distance(segments.begin(), segments.find(point.offset)));
}

// A segment that the user has inserted gets its share, by accesses, of the time of the segment that it divides.
void PlanTimeline::put_times(const Phase& phase, std::vector<Seconds>& times) {
  const auto passed = [&](std::uint64_t offset) {
    double before = 0;
    for (std::size_t s = 0; s < phase.timed.size(); ++s) {
      const auto end =
          s + 1 < phase.timed.size() ? phase.timed[s + 1] : std::max(phase.length, phase.timed[s] + 1);
      if (offset < end)
        return before + phase.times[s] * static_cast<double>(offset - phase.timed[s]) /
                            static_cast<double>(end - phase.timed[s]);
      before += phase.times[s];
    }
    return before;
  };
  std::size_t known = 0;
  for (auto at = phase.rate_limits.begin(); at != phase.rate_limits.end(); ++at) {
    const auto next = std::next(at);
    while (known < phase.timed.size() && phase.timed[known] < at->first) ++known;
    const bool whole = known < phase.timed.size() && phase.timed[known] == at->first &&
                       (next == phase.rate_limits.end()
                            ? known + 1 == phase.timed.size()
                            : known + 1 < phase.timed.size() && phase.timed[known + 1] == next->first);
    const auto end = next == phase.rate_limits.end() ? ~std::uint64_t{0} : next->first;
    times.push_back(Seconds{whole ? phase.times[known] : passed(end) - passed(at->first)});
  }
}

void PlanTimeline::put(Plan& plan) {
  plan.phases = names();
  plan.lengths = lengths();
  std::uint32_t k = 0;
  for (const auto& phase : phases_) {
    begins_.push_back(k);
    k += static_cast<std::uint32_t>(phase.rate_limits.size());
  }
  k = 0;
  for (const auto& phase : phases_) {
    if (timed_) put_times(phase, plan.times);
    if (limited_)
      for (const auto& [offset, limit] : phase.rate_limits) plan.rate_limits.push_back(limit);
    const auto from = known(phase.again_from);
    k += static_cast<std::uint32_t>(phase.rate_limits.size());
    if (!from) continue;
    const Repeat repeat{k - 1, position(*from)};
    if (is_repeat(plan.phases, repeat)) plan.repeats.push_back(repeat);
  }
}

}  // namespace terrace::strategy
