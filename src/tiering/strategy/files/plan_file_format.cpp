// SPDX-License-Identifier: Apache-2.0
// Formats a plan as the text of a plan file (`terrace plan -o PLAN.toml`): first the part for the user, at the end
// [internals], which only Terrace needs. write_plan_file() calls it. See plan_file.hpp.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <vector>

#include "core/segment_labels.hpp"
#include "core/segment_name.hpp"
#include "observe/progress_variant.hpp"
#include "strategy/files/plan_file.hpp"

namespace terrace::strategy {
namespace {

std::string toml_string(std::string_view text) {
  static constexpr const char* k_hex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20 || code == 0x7f) {
      out += std::string("\\u00") + k_hex[code >> 4] + k_hex[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Returns the shortest text that reads as the same double, with a point or exponent, as TOML's floats require.
std::string number(double value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string list(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i > 0 ? ", " : "") + toml_string(texts[i]);
  return out + "]";
}

std::string list(const std::vector<double>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + number(values[i]);
  return out + "]";
}

template <class Value>
std::string whole_numbers(const std::vector<Value>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

bool any(const std::vector<double>& values) {
  return std::ranges::any_of(values, [](double value) { return value != 0; });
}

std::string key(const std::string& text) {
  const bool bare = !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? text : toml_string(text);
}

// Returns a range of chunks, inclusive: "0-15", or "3" for a single one.
std::string span(const Span& span) {
  auto text = std::to_string(span.first);
  if (span.count != 1) text += "-" + std::to_string(std::uint64_t{span.first} + span.count - 1);
  return text;
}

// Replaces control characters, because a comment ends with its line.
std::string comment(std::string text) {
  for (auto& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

bool whole_object(const PlanObject& object) {
  return object.parts.size() == 1 && object.parts[0].chunks.first == 0 &&
         object.parts[0].chunks.count == object.chunks;
}

std::string joined(const std::vector<std::string>& texts, const char* separator, const char* last) {
  std::string out;
  for (std::size_t i = 0; i < texts.size(); ++i)
    out += (i == 0 ? "" : i + 1 == texts.size() ? last : separator) + texts[i];
  return out;
}

// The moves in one line of the file: of one object, to one place, needed by one segment.
struct Line {
  std::uint32_t object = 0;
  std::string to;
  bool awaited = false;
  std::uint32_t needed_by = 0;     // position of that segment, if `awaited`
  std::vector<std::size_t> moves;  // their numbers in the segment
};

// Builds the text of the file, part by part.
class Format {
 public:
  explicit Format(const Plan& plan)
      : plan_(plan), labels_(segment_labels(plan.phases, plan.lengths)), starts_(phase_starts(plan.phases)) {
    for (const auto& move : plan.moves) moves_by_segment_[move.ask].push_back(&move);
  }

  std::string text() {
    head();
    objects();
    segments();
    internals();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += text + "\n"; }
  void text(const char* key, const std::string& value) {
    if (!value.empty()) line(std::string(key) + " = " + toml_string(value));
  }
  void time(const char* key, double value) {
    if (value != 0) line(std::string(key) + " = " + number(value));
  }

  void head() {
    line(
        "# Terrace plan: initial placement of each object, and its migrations during an iteration of the main "
        "loop.");
    line(
        "# May be edited; docs/explanation/planning.md describes the keys. Objects that are not listed stay in "
        "slow memory.");
    std::vector<std::string> times;
    if (plan_.predicted.value > 0) times.push_back(format(plan_.predicted) + " with this plan");
    if (plan_.predicted_slow.value > 0)
      times.push_back(format(plan_.predicted_slow) + " with nothing in fast memory");
    if (plan_.lower_bound.value > 0)
      times.push_back("at least " + format(plan_.lower_bound) + " with any plan (an estimate; see terrace plan)");
    if (!times.empty()) line("# Predicted time of an iteration: " + joined(times, ", ", ", ") + ".");
    line("schema = 2");
    text("planner", plan_.planner);
    text("machine", plan_.machine);
    text("loop", plan_.loop);
    if (plan_.progress != Plan().progress) text("progress", plan_.progress);
    if (!plan_.budget.empty()) line("budget = " + list(plan_.budget));
    if (!plan_.phases.empty()) phases();
  }

  void phases() {
    bool any_long = false, any_again = false;
    for (const auto start : starts_) {
      any_long = any_long || length(start) != 0;
      any_again = any_again || labels_[start] != plan_.phases[start];
    }
    line("");
    line("# The phases of an iteration in their order" +
         std::string(any_again ? "; \"NAME 2\" below is the second phase of that name." : "."));
    if (any_long)
      line("# length: number of " + comment(unit()) +
           " of the phase; \"NAME 12 %\" below is the point after 12 % of them.");
    line("phases = [");
    for (const auto start : starts_) {
      auto entry = toml_string(plan_.phases[start]);
      if (any_long) {
        entry.insert(0, "{ name = ");
        if (const auto accesses = length(start)) entry += ", length = " + std::to_string(accesses);
        entry += " }";
      }
      line("  " + entry + "," +
           (labels_[start] != plan_.phases[start] ? "  # " + comment(labels_[start]) : std::string()));
    }
    line("]");
  }
  [[nodiscard]] std::string unit() const {
    for (const auto* variant : observe::progresses())
      if (variant->name() == plan_.progress) return std::string(variant->unit());
    return plan_.progress;
  }
  [[nodiscard]] std::uint64_t length(std::uint32_t start) const {
    return static_cast<std::uint64_t>(std::llround(phase_length(plan_.phases, plan_.lengths, start)));
  }

  void objects() {
    if (plan_.objects.empty()) return;
    line("");
    line(
        "# Placement of each object at the beginning of an iteration. place: the whole object; parts: these of "
        "its");
    line("# chunks, numbered from 0. pin: never migrated.");
    for (std::uint32_t o = 0; o < plan_.objects.size(); ++o) {
      const auto& object = plan_.objects[o];
      line("");
      line("[[object]]" + remark(o));
      line("name = " + toml_string(object.name));
      if (object.size.value > 0) line("size = " + toml_string(format_exact(object.size)));
      if (object.chunks != 1) line("chunks = " + std::to_string(object.chunks));
      if (object.pinned) line("pin = true");
      if (whole_object(object)) {
        line("place = " + toml_string(object.parts[0].place));
      } else if (!object.parts.empty()) {
        std::map<std::string, std::vector<std::string>> spans;
        for (const auto& part : object.parts) spans[part.place].push_back(span(part.chunks));
        std::vector<std::string> places;
        for (const auto& [place, each] : spans)
          places.push_back(key(place) + " = " + toml_string(joined(each, ", ", ", ")));
        line("parts = { " + joined(places, ", ", ", ") + " }");
      }
    }
  }

  // Returns a comment that summarises an object's moves and gain.
  [[nodiscard]] std::string remark(std::uint32_t o) const {
    const auto& object = plan_.objects[o];
    Seconds gain;
    std::map<std::string, Bytes> moved;
    for (const auto& part : object.parts) gain += part.benefit;
    for (const auto& move : plan_.moves) {
      if (move.object != o) continue;
      gain += move.benefit;
      moved[move.to] += Bytes{object.size.value * move.chunks.count / object.chunks};
    }
    std::vector<std::string> words;
    for (const auto& [to, bytes] : moved) words.push_back(format(bytes) + " to " + to);
    auto text = words.empty() ? "" : "  # moves in an iteration: " + joined(words, ", ", ", ");
    if (gain.value > 0)
      text += std::string(words.empty() ? "  # " : "; ") + "gains " + format(gain) + " an iteration";
    if (text.empty() && object.parts.empty()) text = "  # stays in slow memory";
    return comment(text);
  }

  // Returns the lines of a segment's moves in the order of the file: moves without a waiting phase first, because
  // they free space for the others.
  [[nodiscard]] static std::vector<Line> lines_of(const std::vector<const PlanMove*>& moves) {
    std::vector<Line> lines;
    for (std::size_t m = 0; m < moves.size(); ++m) {
      const auto& move = *moves[m];
      auto same = std::ranges::find_if(lines, [&](const Line& line) {
        return line.object == move.object && line.to == move.to && line.awaited == move.awaited &&
               (!move.awaited || line.needed_by == move.need);
      });
      if (same == lines.end())
        same = lines.insert(lines.end(), {move.object, move.to, move.awaited, move.need, {}});
      same->moves.push_back(m);
    }
    std::stable_partition(lines.begin(), lines.end(), [](const Line& line) { return !line.awaited; });
    return lines;
  }

  // Writes the [[segment]] tables: the moves that each phase, or part of a phase, requests.
  void segments() {
    if (moves_by_segment_.empty()) return;
    line("");
    line(
        "# Migrations, requested when the program reaches this phase, or this point of it. before: the phase that "
        "needs");
    line("# the data there; it waits for them when it begins. Migrations run in the order listed.");
    if (!plan_.sentinels.empty())
      line("# begins_with: the chunk that the phase touches there for the first time.");
    for (const auto& [segment, moves] : moves_by_segment_) {
      line("");
      line("[[segment]]");
      line("name = " + toml_string(labels_[segment]));
      const auto sentinel = std::ranges::find(plan_.sentinels, segment, &PlanSentinel::segment);
      if (sentinel != plan_.sentinels.end())
        line("begins_with = { object = " + toml_string(plan_.objects[sentinel->object].name) +
             ", chunk = " + std::to_string(sentinel->chunk) + " }");
      line("moves = [");
      for (const auto& entry : lines_of(moves)) {
        const auto& object = plan_.objects[entry.object];
        std::vector<std::string> spans;
        for (const auto m : entry.moves) spans.push_back(span(moves[m]->chunks));
        auto text = "  { object = " + toml_string(object.name);
        if (spans.size() != 1 || moves[entry.moves[0]]->chunks != Span{0, object.chunks})
          text += ", chunks = " + toml_string(joined(spans, ", ", ", "));
        text += ", to = " + toml_string(entry.to);
        if (entry.awaited) text += ", before = " + toml_string(labels_[entry.needed_by]);
        line(text + " },");
      }
      line("]");
    }
  }

  void internals() {
    const auto begin = out_.size();
    time("predicted", plan_.predicted.value);
    time("predicted_slow", plan_.predicted_slow.value);
    time("predicted_before", plan_.predicted_before.value);
    time("lower_bound", plan_.lower_bound.value);
    time("gap", plan_.gap);
    if (plan_.draws > 0) line("draws = " + std::to_string(plan_.draws));
    time("regret", plan_.regret.value);
    time("regret_low", plan_.regret_low.value);
    time("regret_high", plan_.regret_high.value);
    array("phase", internals_of_phases());
    array("object", internals_of_objects());
    array("segment", internals_of_segments());
    if (out_.size() == begin) return;
    out_.insert(
        begin,
        "\n# For Terrace alone: exact figures behind the plan above, in seconds. The plan is obeyed without "
        "them, too:\n# delete this line and all below it, or any of it, if they are in the way.\n"
        "[internals]\n");
  }

  void array(const char* name, const std::vector<std::string>& entries) {
    if (entries.empty()) return;
    line(std::string(name) + " = [");
    for (const auto& entry : entries) line("  { " + entry + " },");
    line("]");
  }

  [[nodiscard]] std::vector<std::string> internals_of_phases() const {
    std::vector<std::string> entries;
    for (std::size_t p = 0; p < starts_.size(); ++p) {
      const auto start = starts_[p];
      const auto end = p + 1 < starts_.size() ? starts_[p + 1] : static_cast<std::uint32_t>(plan_.phases.size());
      std::string entry;
      std::vector<std::uint64_t> offsets;
      for (auto k = start + 1; k < end; ++k) offsets.push_back(segment_offset(plan_.phases[k]));
      if (!offsets.empty()) entry += ", segments = " + whole_numbers(offsets);
      if (!plan_.rate_limits.empty())
        entry += ", rate_limits = " +
                 list(std::vector(plan_.rate_limits.begin() + start, plan_.rate_limits.begin() + end));
      if (!offsets.empty() && !plan_.times.empty()) {
        std::vector<double> times;
        for (auto k = start; k < end; ++k) times.push_back(plan_.times[k].value);
        entry += ", times = " + list(times);
      }
      const auto repeat = std::ranges::find(plan_.repeats, end - 1, &Repeat::last);
      if (repeat != plan_.repeats.end()) entry += ", again_from = " + toml_string(labels_[repeat->from]);
      if (!entry.empty()) entries.push_back("name = " + toml_string(labels_[start]) + entry);
    }
    return entries;
  }

  [[nodiscard]] std::vector<std::string> internals_of_objects() const {
    std::vector<std::string> entries;
    for (const auto& object : plan_.objects) {
      std::vector<double> benefits, confidences;
      for (const auto& part : object.parts) {
        benefits.push_back(part.benefit.value);
        if (part.confidence) confidences.push_back(*part.confidence);
      }
      std::string entry;
      if (any(benefits)) entry += ", benefits = " + list(benefits);
      if (!confidences.empty() && confidences.size() == object.parts.size())
        entry += ", confidences = " + list(confidences);
      if (!entry.empty()) entries.push_back("name = " + toml_string(object.name) + entry);
    }
    return entries;
  }

  [[nodiscard]] std::vector<std::string> internals_of_segments() const {
    std::vector<std::string> entries;
    for (const auto& [segment, moves] : moves_by_segment_) {
      std::vector<std::size_t> order;
      for (const auto& line : lines_of(moves)) order.insert(order.end(), line.moves.begin(), line.moves.end());
      std::vector<double> benefits, costs;
      for (const auto m : order) {
        benefits.push_back(moves[m]->benefit.value);
        costs.push_back(moves[m]->cost.value);
      }
      std::string entry;
      if (!std::ranges::is_sorted(order)) entry += ", order = " + whole_numbers(order);
      if (any(benefits)) entry += ", benefits = " + list(benefits);
      if (any(costs)) entry += ", costs = " + list(costs);
      if (!entry.empty()) entries.push_back("name = " + toml_string(labels_[segment]) + entry);
    }
    return entries;
  }

  const Plan& plan_;
  std::vector<std::string> labels_;                                         // by position
  std::vector<std::uint32_t> starts_;                                       // of phases
  std::map<std::uint32_t, std::vector<const PlanMove*>> moves_by_segment_;  // by the segment that requests them
  std::string out_;
};

}  // namespace

std::string format_plan(const Plan& plan) { return Format(plan).text(); }

}  // namespace terrace::strategy
