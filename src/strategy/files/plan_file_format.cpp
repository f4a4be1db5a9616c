// A plan as text.
#include <charconv>
#include <vector>

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

// "0-15", or "3" for a single one: parts of an object, the last one included.
std::string span(const Span& span) {
  auto text = std::to_string(span.first);
  if (span.count != 1) text += "-" + std::to_string(std::uint64_t{span.first} + span.count - 1);
  return toml_string(text);
}

std::string phase(const Plan& plan, std::uint32_t index) {
  return std::to_string(index) + (index < plan.phases.size() ? "  # " + plan.phases[index] : "");
}

// Comments end with their line.
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

std::string benefit_text(Seconds benefit) {
  return benefit.value != 0 ? "benefit = " + number(benefit.value) + "\n" : "";
}

std::string part_text(const PlanPart& part) {
  auto out = "place = " + toml_string(part.place) + "\n" + benefit_text(part.benefit);
  if (part.confidence) out += "confidence = " + number(*part.confidence) + "\n";
  return out;
}

std::string object_text(const PlanObject& object) {
  std::string out = "\n[[object]]\nname = " + toml_string(object.name) + "\n";
  if (object.size.value > 0) out += "size = " + toml_string(format_exact(object.size)) + "\n";
  if (object.chunks != 1) out += "chunks = " + std::to_string(object.chunks) + "\n";
  if (object.pinned) out += "pin = true\n";
  if (whole_object(object)) return out + part_text(object.parts[0]);
  for (const auto& part : object.parts)
    out += "[[object.part]]\nchunks = " + span(part.chunks) + "\n" + part_text(part);
  return out;
}

std::string move_text(const Plan& plan, const PlanMove& move) {
  std::string out = "\n[[move]]\nobject = " + toml_string(plan.objects[move.object].name) + "\n";
  const auto& object = plan.objects[move.object];
  if (move.chunks.first != 0 || move.chunks.count != object.chunks) out += "chunks = " + span(move.chunks) + "\n";
  out += "to = " + toml_string(move.to) + "\nask = " + comment(phase(plan, move.ask)) + "\n";
  if (move.awaited) out += "need = " + comment(phase(plan, move.need)) + "\n";
  out += benefit_text(move.benefit);
  if (move.cost.value != 0) out += "cost = " + number(move.cost.value) + "\n";
  return out;
}

}  // namespace

std::string format_plan(const Plan& plan) {
  std::string out =
      "# A plan of Terrace: where each object is when the loop begins, and what moves in which phase of an\n"
      "# iteration. Objects that are not named lie at home. Times are seconds of one iteration.\n"
      "schema = 1\n";
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += std::string(key) + " = " + toml_string(value) + "\n";
  };
  const auto time = [&](const char* key, double value) {
    if (value != 0) out += std::string(key) + " = " + number(value) + "\n";
  };
  text("planner", plan.planner);
  text("machine", plan.machine);
  text("loop", plan.loop);
  if (plan.progress != Plan().progress) text("progress", plan.progress);
  if (!plan.budget.empty()) out += "budget = " + list(plan.budget) + "\n";
  if (!plan.phases.empty()) out += "phases = " + list(plan.phases) + "\n";
  if (!plan.rate_limits.empty()) out += "rate_limits = " + list(plan.rate_limits) + "\n";
  time("predicted", plan.predicted.value);
  time("predicted_slow", plan.predicted_slow.value);
  time("lower_bound", plan.lower_bound.value);
  time("gap", plan.gap);
  if (plan.draws > 0) out += "draws = " + std::to_string(plan.draws) + "\n";
  time("regret", plan.regret.value);
  time("regret_low", plan.regret_low.value);
  time("regret_high", plan.regret_high.value);
  for (const auto& repeat : plan.repeats)
    out += "\n[[repeat]]\nlast = " + comment(phase(plan, repeat.last)) +
           "\nfrom = " + comment(phase(plan, repeat.from)) + "\n";
  for (const auto& object : plan.objects) out += object_text(object);
  for (const auto& move : plan.moves) out += move_text(plan, move);
  return out;
}

}  // namespace terrace::strategy
