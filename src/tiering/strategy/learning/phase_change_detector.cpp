// SPDX-License-Identifier: Apache-2.0
// Compares the times of phases with their usual times, iteration by iteration, so that LearningStrategy profiles
// again when the program has changed. See phase_change_detector.hpp.
#include "strategy/learning/phase_change_detector.hpp"

#include <algorithm>
#include <cmath>

namespace terrace::strategy {

namespace {

constexpr double k_of_the_phase = 0.1;
constexpr double k_of_the_iteration = 0.01;
constexpr std::uint32_t k_first_patience = 2;
constexpr std::uint32_t k_lasts = 8;  // min lifetime of a lasting plan, in patiences

// Returns whether a phase's time is within the noise of its usual time; `iteration`: the time of all phases.
bool agree(Seconds a, Seconds usual, Seconds iteration) {
  const auto bound = std::max(k_of_the_phase * usual.value, k_of_the_iteration * iteration.value);
  return std::abs(a.value - usual.value) <= bound;
}

}  // namespace

void PhaseChangeDetector::reset() { *this = {}; }

void PhaseChangeDetector::start_watching() {
  phases_.clear();
  now_.clear();
  iterations_ = 0;
  ++plans_;
  if (patience_ == 0) patience_ = k_first_patience;
  is_watching_ = true;
}

void PhaseChangeDetector::on_phase_end(PhaseIndex phase, std::string_view name, Seconds time) {
  if (!is_watching_) return;
  if (now_.size() <= phase) now_.resize(phase + 1);
  now_[phase] = {std::string(name), time};
}

std::optional<PhaseChangeDetector::PhaseChange> PhaseChangeDetector::on_iteration_end() {
  if (!is_watching_ || now_.empty()) return std::nullopt;
  ++iterations_;
  const bool settled =
      std::any_of(phases_.begin(), phases_.end(), [](const Phase& phase) { return phase.usual.has_value(); });
  for (auto k = phases_.size(); k < now_.size(); ++k) {
    phases_.push_back({now_[k].name, now_[k].time, {}, 0});
    if (settled) phases_.back().usual = Seconds{};  // a new phase took no time before
  }
  Seconds iteration;
  for (const auto& phase : now_) iteration += phase.time;
  std::optional<PhaseChange> varied;
  for (std::size_t k = 0; k < phases_.size(); ++k) {
    const bool same = k < now_.size() && now_[k].name == phases_[k].name;
    if (!same && !phases_[k].usual && k < now_.size()) {
      phases_[k] = {now_[k].name, now_[k].time, {}, 0};
      continue;
    }
    // If another phase came instead, this one took no time.
    const auto time = same ? now_[k].time : Seconds{};
    compare(phases_[k], time, iteration);
    if (!varied && phases_[k].varied >= patience_) varied = report_change(k, time);
  }
  now_.clear();
  return varied;
}

// Updates the usual time of a phase and its number of consecutive deviations.
void PhaseChangeDetector::compare(Phase& phase, Seconds now, Seconds iteration) const {
  const bool first = iterations_ == 1;
  const auto held_against = phase.usual.value_or(phase.last);
  const bool as_usual = agree(now, held_against, iteration);
  if (phase.usual)
    phase.varied = as_usual ? 0 : phase.varied + 1;
  else if (as_usual && !first)
    phase.usual = now;
  phase.last = now;
}

// Ends watching, and adapts the patience to how long the plan in force was valid.
PhaseChangeDetector::PhaseChange PhaseChangeDetector::report_change(std::size_t phase, Seconds now) {
  const auto& of = phases_[phase];
  PhaseChange varied{static_cast<PhaseIndex>(phase), of.name, *of.usual, now, of.varied};
  const bool lasted = plans_ == 1 || iterations_ > k_lasts * patience_;
  patience_ = lasted ? k_first_patience : 2 * patience_;
  is_watching_ = false;
  return varied;
}

}  // namespace terrace::strategy
