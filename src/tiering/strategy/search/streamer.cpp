// SPDX-License-Identifier: Apache-2.0
// Schedules the items of one domain through fast memory, phase by phase, for the planner "stream". See
// streamer.hpp.
#include "strategy/search/streamer.hpp"

#include <algorithm>
#include <utility>

#include "model/moves.hpp"
#include "strategy/static_decision.hpp"

namespace terrace::strategy {

namespace {

constexpr std::size_t k_uses_looked_at = 5;
constexpr double k_louder = 1.5;
constexpr double k_quieter = 0.9;

}  // namespace

Streamer::Streamer(const model::Problem& problem, DomainId domain, PlaceId fast, PlaceId home,
                   const model::Multipliers* prices)
    : problem_(problem), fast_(fast), home_(home), uses_(model::uses_by_item(problem)) {
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    const auto& item = problem.items[i];
    if (item.domain == domain && item.pinned == k_no_place) items_.push_back(i);
    if (item.pinned == fast) capacity_ -= static_cast<double>(item.size.value);
  }
  capacity_ += static_cast<double>(problem.places[fast].budget.value);
  auto placement = home_placement(problem);
  for (const auto i : items_) placement[i] = fast;
  for (std::size_t k = 0; k < problem.phases.size(); ++k) {
    const auto load = model::load_of(problem, k, placement);
    phase_time_.push_back(load.time());
    left_.push_back(load.time() > 0 ? 1 - load.busy(fast) / load.time() : 1);
  }
  copying_.resize(problem.phases.size());
  considered_.resize(problem.items.size(), 0);
  double end = 0;
  for (const auto time : phase_time_) end_.push_back(end += time);
  find_gains(prices);
}

void Streamer::find_gains(const model::Multipliers* prices) {
  const auto& fast = problem_.places[fast_];
  const auto& home = problem_.places[home_];
  gains_.resize(problem_.items.size());
  used_in_.resize(problem_.phases.size());
  for (const auto i : items_)
    for (const auto& use : uses_[i]) {
      const auto exposed = model::exposed_time(*use.cell, home) - model::exposed_time(*use.cell, fast);
      const auto at_home = model::busy_time(*use.cell, home), there = model::busy_time(*use.cell, fast);
      Use made{use.phase, std::max({exposed, at_home - there, 0.0}), there};
      if (prices != nullptr) {
        const auto* row = &prices->row[use.phase * (problem_.places.size() + 2)];
        made.gained = std::max(row[0] * exposed + row[1 + home_] * at_home - row[1 + fast_] * there, 0.0);
        made.busy = 0;  // included in the price
      }
      if (made.gained <= 0 && made.busy <= 0) continue;
      gains_[i].push_back(made);
      if (made.gained > 0) used_in_[use.phase].push_back(i);
    }
}

void Streamer::fill(model::Schedule& schedule, const Tuning& tuning) {
  // A copy into fast memory gets the bandwidth that the phase leaves, at least that reserved for copies.
  const auto full = problem_.copy[home_][fast_] / problem_.places[fast_].write_bandwidth;
  double copied = 0;
  for (std::size_t k = 0; k < copying_.size(); ++k)
    copying_[k] = copied += phase_time_[k] * std::min(1.0, std::max(left_[k], tuning.keep) / full);
  const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
  resident_.assign(problem_.items.size(), false);
  incoming_.assign(problem_.items.size(), false);
  resident_items_.clear();
  backlog_ = 0;
  // The second round begins with the placement at the end of the first, as every later iteration does.
  for (std::uint32_t round = 0; round < 2; ++round) {
    cursor_.assign(problem_.items.size(), 0);
    for (std::uint32_t k = 0; k < phases; ++k) {
      advance(k, tuning);
      if (round == 0) continue;
      for (const auto i : resident_items_)
        if (!incoming_[i]) schedule.phases[k][i] = fast_;
    }
  }
}

void Streamer::weigh(const model::Schedule& schedule) {
  for (const auto i : items_)
    for (auto& use : gains_[i]) use.weight *= schedule.phases[use.phase][i] == fast_ ? k_quieter : k_louder;
}

double Streamer::over(const std::vector<double>& sums, std::uint32_t k, std::size_t count) {
  const auto last = k + count - 1;
  const auto rounds = last / sums.size();
  return sums[last % sums.size()] + static_cast<double>(rounds) * sums.back() - (k == 0 ? 0 : sums[k - 1]);
}

std::size_t Streamer::next_use(std::uint32_t item, std::uint32_t k) {
  const auto& uses = gains_[item];
  auto& at = cursor_[item];
  while (at < uses.size() && uses[at].phase < k) ++at;
  return at;
}

bool Streamer::touched(std::uint32_t item, std::uint32_t k) const {
  const auto& uses = uses_[item];
  const auto found = std::lower_bound(
      uses.begin(), uses.end(), k, [](const model::Use& use, std::uint32_t phase) { return use.phase < phase; });
  return found != uses.end() && found->phase == k;
}

Streamer::Candidate Streamer::candidate(std::uint32_t item, std::uint32_t k, const Tuning& tuning) {
  const auto& uses = gains_[item];
  const auto size = static_cast<double>(problem_.items[item].size.value);
  const auto moving = tuning.worth * (copy_in(item) + copy_out(item)) + 2 * model::move_cost(problem_, item);
  Candidate best{0, item, 0, 0};
  auto gained = resident_[item] ? moving : -moving;
  auto at = next_use(item, k);
  auto begin = k == 0 ? 0 : end_[k - 1];  // of phase k, seen from the use's iteration
  std::size_t gaining = 0;
  bool wraps = false;
  for (std::size_t n = 0; n < uses.size() && gaining < k_uses_looked_at; ++n, ++at) {
    if (at == uses.size()) {
      wraps = true;
      at = 0;
      begin -= end_.back();
    }
    const auto& use = uses[at];
    gained += use.gained * use.weight - tuning.thrift * use.busy;
    if (use.gained <= 0) continue;
    if (gaining++ == 0)
      best.next = use.phase + (wraps ? static_cast<std::uint32_t>(problem_.phases.size()) : 0) - k;
    if (const auto score = gained / (end_[use.phase] - begin); score > best.score) {
      best.score = score;
      best.gained = gained;
    }
  }
  best.score /= size;
  return best;
}

double Streamer::lateness(const Candidate& one, std::uint32_t k) const {
  const auto copying = backlog_ + copy_in(one.item);
  if (one.next == 0) return copying;
  return std::max(copying - over(copying_, k, one.next), 0.0);
}

void Streamer::advance(std::uint32_t k, const Tuning& tuning) {
  const auto phases = static_cast<std::uint32_t>(problem_.phases.size());
  std::vector<Candidate> candidates;
  const auto consider = [&](std::uint32_t item) {
    if (auto one = candidate(item, k, tuning); one.score > 0) candidates.push_back(one);
  };
  for (const auto i : resident_items_) consider(i);
  ++pass_;
  for (std::uint32_t ahead = 0; ahead <= std::min(tuning.lead, phases - 1); ++ahead)
    for (const auto i : used_in_[(k + ahead) % phases])
      if (!resident_[i] && std::exchange(considered_[i], pass_) != pass_) consider(i);
  for (const auto i : resident_items_) incoming_[i] = false;
  const auto before = std::exchange(resident_items_, {});
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.item < b.item;
  });
  auto free = capacity_;
  for (const auto& one : candidates) {
    const auto size = static_cast<double>(problem_.items[one.item].size.value);
    const bool is_fetched = !resident_[one.item];
    const auto late = is_fetched ? lateness(one, k) : 0;
    if (size > free || tuning.patience * late >= one.gained) continue;
    if (is_fetched && one.next > 0 && touched(one.item, k)) continue;  // it cannot move while this phase uses it
    free -= size;
    if (is_fetched) backlog_ += copy_in(one.item) - late;  // copies continue while a phase waits
    resident_items_.push_back(one.item);
    incoming_[one.item] = is_fetched && one.next > 0;
  }
  for (const auto i : before) resident_[i] = false;
  for (const auto i : resident_items_) resident_[i] = true;
  for (const auto i : before)
    if (!resident_[i]) backlog_ += copy_out(i);
  backlog_ = std::max(backlog_ - over(copying_, k, 1), 0.0);
}

}  // namespace terrace::strategy
