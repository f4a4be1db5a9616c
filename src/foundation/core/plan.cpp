// SPDX-License-Identifier: Apache-2.0
// Serialises plans, for the launcher to pass to the program and for the journal, and derives times of phases.
#include "core/plan.hpp"

#include <algorithm>
#include <utility>

#include "core/segment_name.hpp"

namespace terrace {
namespace {

constexpr std::uint32_t k_plan_version = 8;
constexpr double k_not_asked = -1;  // encodes a missing PlanPart::confidence

void put(BlobWriter& out, Seconds seconds) { out.put(seconds.value); }
void put(BlobWriter& out, const Span& span) {
  out.put(span.first);
  out.put(span.count);
}
void put(BlobWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const auto& text : texts) out.put(std::string_view(text));
}
void put(BlobWriter& out, const PlanObject& object) {
  out.put(std::string_view(object.name));
  out.put(object.size.value);
  out.put(object.chunks);
  out.put(object.pinned);
  out.put(static_cast<std::uint32_t>(object.parts.size()));
  for (const auto& part : object.parts) {
    put(out, part.chunks);
    out.put(std::string_view(part.place));
    put(out, part.benefit);
    out.put(part.confidence.value_or(k_not_asked));
  }
}
void put(BlobWriter& out, const PlanMove& move) {
  out.put(move.object);
  put(out, move.chunks);
  out.put(std::string_view(move.to));
  out.put(move.ask);
  out.put(move.need);
  out.put(move.awaited);
  put(out, move.benefit);
  put(out, move.cost);
}

Seconds get_seconds(BlobReader& in) { return Seconds{in.get<double>()}; }
bool get_bool(BlobReader& in) { return in.get<std::uint8_t>() != 0; }
Span get_span(BlobReader& in) {
  Span span;
  span.first = in.get<std::uint32_t>();
  span.count = in.get<std::uint32_t>();
  return span;
}
// Reads a count and checks it against the bytes left, so that a damaged one does not allocate much memory.
std::uint32_t get_count(BlobReader& in) {
  const auto count = in.get<std::uint32_t>();
  if (count > in.remaining())
    throw Error(Code::corrupt, "the stored plan is damaged: it ends within a list; record the profile again");
  return count;
}
std::vector<std::string> get_texts(BlobReader& in) {
  std::vector<std::string> texts(get_count(in));
  for (auto& text : texts) text = in.get_string();
  return texts;
}
std::optional<double> get_confidence(BlobReader& in) {
  const auto value = in.get<double>();
  return value >= 0 ? std::optional(value) : std::nullopt;
}
double get_rate_limit(BlobReader& in) {
  const auto limit = in.get<double>();
  if (!is_rate_limit(limit))
    throw Error(Code::corrupt, "the stored plan is damaged: rate limit " + std::to_string(limit) +
                                   " is not above 0 and at most 1; record the profile again");
  return limit;
}
[[noreturn]] void throw_count_mismatch(const Plan& plan, std::size_t count, const char* what) {
  throw Error(Code::corrupt, "the stored plan is damaged: it has " + std::to_string(plan.phases.size()) +
                                 " phases, but " + what + " of " + std::to_string(count) +
                                 "; record the profile again");
}
PlanObject get_object(BlobReader& in) {
  PlanObject object;
  object.name = in.get_string();
  object.size = Bytes{in.get<std::uint64_t>()};
  object.chunks = in.get<std::uint32_t>();
  object.pinned = get_bool(in);
  const auto parts = get_count(in);
  for (std::uint32_t i = 0; i < parts; ++i) {
    const auto span = get_span(in);
    auto place = in.get_string();
    const auto benefit = get_seconds(in);
    object.parts.push_back({span, std::move(place), benefit, get_confidence(in)});
  }
  return object;
}
PlanMove get_move(BlobReader& in) {
  PlanMove move;
  move.object = in.get<std::uint32_t>();
  move.chunks = get_span(in);
  move.to = in.get_string();
  move.ask = in.get<std::uint32_t>();
  move.need = in.get<std::uint32_t>();
  move.awaited = get_bool(in);
  move.benefit = get_seconds(in);
  move.cost = get_seconds(in);
  return move;
}

}  // namespace

void Plan::to_blob(BlobWriter& out) const {
  out.put(k_plan_version);
  out.put(std::string_view(planner));
  out.put(std::string_view(machine));
  out.put(std::string_view(loop));
  out.put(std::string_view(progress));
  put(out, budget);
  put(out, phases);
  out.put(static_cast<std::uint32_t>(lengths.size()));
  for (const auto length : lengths) out.put(length);
  out.put(static_cast<std::uint32_t>(times.size()));
  for (const auto time : times) put(out, time);
  out.put(static_cast<std::uint32_t>(rate_limits.size()));
  for (const auto limit : rate_limits) out.put(limit);
  out.put(static_cast<std::uint32_t>(repeats.size()));
  for (const auto& repeat : repeats) {
    out.put(repeat.last);
    out.put(repeat.from);
  }
  out.put(static_cast<std::uint32_t>(objects.size()));
  for (const auto& object : objects) put(out, object);
  out.put(static_cast<std::uint32_t>(moves.size()));
  for (const auto& move : moves) put(out, move);
  out.put(static_cast<std::uint32_t>(sentinels.size()));
  for (const auto& sentinel : sentinels) {
    out.put(sentinel.segment);
    out.put(sentinel.object);
    out.put(sentinel.chunk);
  }
  put(out, predicted);
  put(out, predicted_slow);
  put(out, predicted_before);
  put(out, lower_bound);
  out.put(gap);
  out.put(draws);
  put(out, regret);
  put(out, regret_low);
  put(out, regret_high);
}

Plan Plan::from_blob(BlobReader& in) {
  if (const auto version = in.get<std::uint32_t>(); version != k_plan_version) {
    throw Error(Code::corrupt, "the plan has version " + std::to_string(version) +
                                   ", this Terrace reads version " + std::to_string(k_plan_version) +
                                   "; record the profile again");
  }
  Plan plan;
  plan.planner = in.get_string();
  plan.machine = in.get_string();
  plan.loop = in.get_string();
  plan.progress = in.get_string();
  plan.budget = get_texts(in);
  plan.phases = get_texts(in);
  plan.lengths.resize(get_count(in));
  for (auto& length : plan.lengths) length = in.get<std::uint64_t>();
  if (!plan.lengths.empty() && plan.lengths.size() != plan.phases.size())
    throw_count_mismatch(plan, plan.lengths.size(), "lengths");
  plan.times.resize(get_count(in));
  for (auto& time : plan.times) time = get_seconds(in);
  if (!plan.times.empty() && plan.times.size() != plan.phases.size())
    throw_count_mismatch(plan, plan.times.size(), "times");
  plan.rate_limits.resize(get_count(in));
  for (auto& limit : plan.rate_limits) limit = get_rate_limit(in);
  if (!plan.rate_limits.empty() && plan.rate_limits.size() != plan.phases.size())
    throw_count_mismatch(plan, plan.rate_limits.size(), "rate limits");
  plan.repeats.resize(get_count(in));
  for (auto& repeat : plan.repeats) {
    repeat.last = in.get<std::uint32_t>();
    repeat.from = in.get<std::uint32_t>();
    if (!is_repeat(plan.phases, repeat))
      throw Error(Code::corrupt,
                  "the stored plan is damaged: one of its repeats spans two phases; record the profile again");
  }
  const auto objects = get_count(in);
  for (std::uint32_t i = 0; i < objects; ++i) plan.objects.push_back(get_object(in));
  const auto moves = get_count(in);
  for (std::uint32_t i = 0; i < moves; ++i) {
    plan.moves.push_back(get_move(in));
    if (plan.moves.back().object >= plan.objects.size())
      throw Error(Code::corrupt, "the stored plan is damaged: a move names object " +
                                     std::to_string(plan.moves.back().object) + ", and there are " +
                                     std::to_string(plan.objects.size()) + "; record the profile again");
  }
  plan.sentinels.resize(get_count(in));
  for (auto& sentinel : plan.sentinels) {
    sentinel.segment = in.get<std::uint32_t>();
    sentinel.object = in.get<std::uint32_t>();
    sentinel.chunk = in.get<std::uint32_t>();
    if (sentinel.segment >= plan.phases.size() || sentinel.object >= plan.objects.size() ||
        sentinel.chunk >= plan.objects[sentinel.object].chunks)
      throw Error(Code::corrupt,
                  "the stored plan is damaged: a segment begins with a chunk that the plan does not have; record "
                  "the profile again");
  }
  plan.predicted = get_seconds(in);
  plan.predicted_slow = get_seconds(in);
  plan.predicted_before = get_seconds(in);
  plan.lower_bound = get_seconds(in);
  plan.gap = in.get<double>();
  plan.draws = in.get<std::uint32_t>();
  plan.regret = get_seconds(in);
  plan.regret_low = get_seconds(in);
  plan.regret_high = get_seconds(in);
  return plan;
}

double phase_length(const std::vector<std::string>& phases, const std::vector<std::uint64_t>& lengths,
                    std::uint32_t start) {
  if (start < lengths.size() && lengths[start] != 0) return static_cast<double>(lengths[start]);
  std::uint32_t segments = 1;
  while (start + segments < phases.size() &&
         segment_offset(phases[start + segments]) > segment_offset(phases[start + segments - 1]))
    ++segments;
  if (segments == 1) return 0;
  const auto last = static_cast<double>(segment_offset(phases[start + segments - 1]));
  return last * segments / (segments - 1);
}

Seconds time_of_phase(const Plan& plan, std::uint32_t start) {
  Seconds time;
  for (auto k = start; k < plan.times.size() && (k == start || segment_offset(plan.phases[k]) != 0); ++k)
    time += plan.times[k];
  return time;
}

double share_of_time(const Plan& plan, std::uint32_t start, std::uint32_t k) {
  const auto whole = time_of_phase(plan, start);
  if (whole.value > 0) {
    Seconds before;
    for (auto i = start; i < k; ++i) before += plan.times[i];
    return before / whole;
  }
  const auto length = phase_length(plan.phases, plan.lengths, start);
  return length > 0 ? std::min(1.0, static_cast<double>(segment_offset(plan.phases[k])) / length) : 0;
}

bool is_repeat(const std::vector<std::string>& phases, const Repeat& repeat) {
  const auto offset = [&](std::size_t k) { return k < phases.size() ? segment_offset(phases[k]) : 0; };
  if (repeat.from >= repeat.last || repeat.last >= phases.size()) return false;
  for (auto k = repeat.from; k < repeat.last; ++k)
    if (offset(k + 1) <= offset(k)) return false;
  return offset(repeat.last + 1) == 0;
}

bool same_places(const Plan& a, const Plan& b) {
  const auto same_part = [](const PlanPart& x, const PlanPart& y) {
    return x.chunks == y.chunks && x.place == y.place;
  };
  const auto same_object = [&](const PlanObject& x, const PlanObject& y) {
    return x.name == y.name && x.chunks == y.chunks && x.pinned == y.pinned &&
           std::ranges::equal(x.parts, y.parts, same_part);
  };
  const auto same_move = [](const PlanMove& x, const PlanMove& y) {
    return x.object == y.object && x.chunks == y.chunks && x.to == y.to && x.ask == y.ask && x.need == y.need &&
           x.awaited == y.awaited;
  };
  return a.phases == b.phases && a.repeats == b.repeats && std::ranges::equal(a.objects, b.objects, same_object) &&
         std::ranges::equal(a.moves, b.moves, same_move);
}

}  // namespace terrace
