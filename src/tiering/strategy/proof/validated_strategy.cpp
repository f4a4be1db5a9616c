// SPDX-License-Identifier: Apache-2.0
// Measures iterations with and without a plan, and undoes plans that make them slower. The runtime wraps
// strategies in it in `terrace run`, and in virtual time under --undo. See validated_strategy.hpp.
#include "strategy/proof/validated_strategy.hpp"

#include <algorithm>
#include <utility>

#include "strategy/tiering/first_fit.hpp"
#include "transfer/mover.hpp"

namespace terrace::strategy {

namespace {

constexpr std::uint64_t k_judged =
    2;  // iterations to judge a learned plan, and to confirm that it was undone rightly
constexpr std::uint64_t k_again = 16;                // iterations until it is judged again
constexpr double k_small_loss = 0.03;                // of the median
constexpr std::uint32_t k_max_restore_attempts = 3;  // iterations in which other ranks may still move their data

std::string format_percent(double share) {
  const auto tenths = static_cast<std::int64_t>(share * 1000 + (share < 0 ? -0.5 : 0.5));
  const auto size = tenths < 0 ? -tenths : tenths;
  std::string text = tenths < 0 ? "-" : "";
  text += std::to_string(size / 10);
  text += '.';
  text += std::to_string(size % 10);
  text += " %";
  return text;
}

}  // namespace

ValidatedStrategy::ValidatedStrategy(const Context& context, std::unique_ptr<Strategy> inner, bool learning_slows,
                                     bool is_given, const PredictedTimes& predicted)
    : context_(context),
      inner_(std::move(inner)),
      learning_slows_(learning_slows),
      is_given_(is_given),
      predicted_(predicted) {}

// Passes the event to the wrapped strategy, and notes whether that adopted a plan or moved data.
void ValidatedStrategy::forward(const StrategyEvent& event, Requests& requests) {
  SuppressedRequests suppressed(requests, is_suspended(), *context_.chunks);
  inner_->on_event(event, suppressed);
  has_moved_ = has_moved_ || suppressed.has_requested();
  const auto& plan = suppressed.adopted_plan();
  if (!plan || is_suspended()) return;
  if (!is_given_ && state_ == State::unplaced) places_before_plan_ = suppressed.places_before();
  // The evidence is that of the first plan of a loop: before a later one the program has changed.
  is_proved_ = is_proved_ || evidence_.with.is_enough();
  predicted_ = *plan;
  placed_.forget();
  planned_in_ = iteration_;
  if (!is_given_ && state_ != State::settled) state_ = State::moving;
}

PlacementExtent ValidatedStrategy::initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                     std::uint32_t left) {
  if (!is_suspended()) return inner_->initial_placement(object, ordinal, left);
  return first_fit(context_, object, left).value_or(PlacementExtent{context_.home(), left});
}

// Forgets all times and verdicts of the loop before.
void ValidatedStrategy::begin_loop(const LoopBegun& event) {
  before_.forget();
  placed_.forget();
  after_.forget();
  evidence_ = {};
  evidence_left_ = 0;
  is_over_ = was_reinstated_ = has_moved_ = is_proved_ = false;
  is_judged_ = !event.by_time;
  in_loop_ = true;
  iteration_ = planned_in_ = 0;
  time_ = work_ = {};
  state_ = is_given_ ? State::judging : State::unplaced;
  is_clean_ = true;
  restorations_left_ = 0;
}

void ValidatedStrategy::on_event(const StrategyEvent& event, Requests& requests) {
  const auto* iteration = std::get_if<IterationBegins>(&event);
  if (iteration) {
    if (iteration->iteration > 0) on_iteration_end(requests);
    iteration_ = iteration->iteration;
    time_ = work_ = {};
  } else if (const auto* phase = std::get_if<PhaseEnded>(&event)) {
    time_ += phase->time;
    work_ += phase->work;
    is_late_ = is_late_ || phase->is_late;
  } else if (const auto* loop = std::get_if<LoopBegun>(&event)) {
    begin_loop(*loop);
  } else if (std::holds_alternative<LoopEnded>(event)) {
    if (std::exchange(in_loop_, false)) report_gain(requests);
  } else if (std::holds_alternative<PhaseBegins>(event) && must_defer_plan()) {
    return;
  }
  forward(event, requests);
  if (!iteration) return;
  is_learning_ = inner_->wants_profile();
  if (state_ == State::moving && planned_in_ < iteration_ && requests.is_idle()) state_ = State::judging;
  is_clean_ = state_ == State::judging || requests.is_idle();
  if (!context_.ranks) return;
  if (restorations_left_ > 0) complete_restoring(requests);
  publish_status();
}

PlanStatus ValidatedStrategy::status() const {
  if (is_over_) return PlanStatus::rejected;
  switch (state_) {
    case State::unplaced:
      return PlanStatus::none;
    case State::moving:
    case State::judging:
      return PlanStatus::validating;
    case State::suspended:
    case State::undone:
      return PlanStatus::suspended;
    case State::settled:
      break;
  }
  return PlanStatus::accepted;
}

void ValidatedStrategy::publish_status() {
  context_.ranks->set_status(in_loop_ && is_judged_ ? status() : PlanStatus::none);
}

// Ranks suspend their plans one after the other, within an iteration. Data returns to memory that another rank's
// plan occupies until then.
void ValidatedStrategy::complete_restoring(Requests& requests) {
  --restorations_left_;
  auto places = is_given_ ? first_fit_all(context_) : places_before_plan_;
  places.resize(context_.chunks->size(), k_no_place);
  if (places != places_now()) is_clean_ = false;
  move_to(places, requests);
  requests.wait_for_all();
}

bool ValidatedStrategy::follow_leader(Requests& requests) {
  if (!context_.ranks) return false;
  const auto leader = context_.ranks->leader_status();
  if (!leader) return false;
  const bool in_force = state_ == State::judging || state_ == State::settled || state_ == State::moving;
  switch (*leader) {
    case PlanStatus::none:
      return false;
    case PlanStatus::validating:
      break;
    case PlanStatus::accepted:
      if (state_ == State::judging) state_ = State::settled;
      if (state_ != State::suspended && state_ != State::undone) break;
      was_reinstated_ = was_reinstated_ || state_ == State::undone;
      evidence_.without = state_ == State::undone ? after_ : before_;
      reinstate_plan(requests);
      break;
    case PlanStatus::suspended:
      if (in_force) suspend(is_given_ ? State::suspended : State::undone, requests);
      break;
    case PlanStatus::rejected:
      if (in_force) suspend(is_given_ ? State::suspended : State::undone, requests);
      if (state_ == State::unplaced) break;
      is_over_ = true;
      requests.note("warning",
                    "the plan is undone together with those of the other ranks; data stays where it is");
      break;
  }
  return true;
}

// Counts the iteration for the placement that was in force when it began, if no move was pending then.
void ValidatedStrategy::on_iteration_end(Requests& requests) {
  if (!is_judged_ || is_over_ || std::exchange(is_late_, false)) return;
  const bool follows = follow_leader(requests);
  if (is_over_) return;
  switch (state_) {
    case State::unplaced:
      // The first iteration is no baseline: it populates pages and caches.
      if (iteration_ > 0 && !(learning_slows_ && is_learning_)) before_.add(time_, work_);
      break;
    case State::moving:
      break;
    case State::settled:
      count_under_plan();
      // Detects a small loss over many iterations; in two of them it is noise.
      if (follows || is_given_ || was_reinstated_ || !has_moved_ || before_.count() == 0 ||
          placed_.count() % k_again != 0)
        break;
      if (placed_.median() <= (1 + k_small_loss) * before_.median()) break;
      suspend(State::undone, requests);
      break;
    case State::judging:
      if (iteration_ == 0) break;
      count_under_plan();
      if (!follows) judge(requests);
      break;
    case State::suspended:
      if (!is_clean_) break;
      before_.add(time_, work_);
      if (follows || !before_.is_enough()) break;
      evidence_.without = before_;
      if (takes_longer(before_, evidence_.with)) {
        undo_plan(requests);
      } else {
        reinstate_plan(requests);
      }
      break;
    case State::undone:
      if (!is_clean_) break;
      after_.add(time_, work_);
      if (follows || !after_.is_enough() || after_.count() < k_judged) break;
      evidence_.without = after_;
      if (takes_longer(after_, evidence_.with) ||
          (placed_.count() >= k_again && evidence_.with.median() > (1 + k_small_loss) * after_.median())) {
        undo_plan(requests);
      } else {
        was_reinstated_ = true;
        reinstate_plan(requests);
        requests.note("note", "the plan is in force again: without it iterations took as long");
      }
      break;
  }
}

// Settles the plan, or suspends it, once enough iterations under it were counted.
void ValidatedStrategy::judge(Requests& requests) {
  if (!placed_.is_enough()) return;
  if (is_given_) {
    if (before_.count() > 0) {
      state_ = State::settled;
      return;
    }
    return suspend(State::suspended, requests);
  }
  if (placed_.count() < k_judged) return;
  if (was_reinstated_ || !has_moved_ || !takes_longer(before_, placed_)) {
    state_ = State::settled;
    return;
  }
  suspend(State::undone, requests);
}

// Counts an iteration under the plan. The first ones are the evidence, with the last ones without the plan.
void ValidatedStrategy::count_under_plan() {
  placed_.add(time_, work_);
  if (evidence_left_ > 0) {
    evidence_.with.add(time_, work_);
    --evidence_left_;
  }
  const bool was_away = was_reinstated_ || (is_given_ && before_.count() > 0);
  if (was_away || is_proved_ || placed_.count() > Evidence::k_max) return;
  set_evidence(before_.last(Evidence::k_max), placed_);
}

void ValidatedStrategy::set_evidence(const IterationTimes& without, const IterationTimes& with) {
  evidence_ = {without, with};
  predicted_of_evidence_ = predicted_;
}

// Suspends the plan, to measure iterations without it.
void ValidatedStrategy::suspend(State state, Requests& requests) {
  set_evidence({}, placed_.last(Evidence::k_max));
  if (context_.ranks) context_.ranks->release_shares();
  restore_unplaced(requests);
  if (context_.ranks) restorations_left_ = k_max_restore_attempts;
  state_ = state;
}

std::vector<PlaceId> ValidatedStrategy::places_now() const {
  std::vector<PlaceId> places;
  places.reserve(context_.chunks->size());
  for (const auto& chunk : *context_.chunks) places.push_back(chunk.place.load(std::memory_order_relaxed));
  return places;
}

// Requests moves to slower places first: they free space for the others.
void ValidatedStrategy::move_to(const std::vector<PlaceId>& places, Requests& requests) {
  const auto& order = context_.places();
  const auto rank = [&](PlaceId place) { return std::ranges::find(order, place) - order.begin(); };
  std::vector<transfer::TransferRequest> out, in;
  for (ChunkId id = 0; id < places.size(); ++id) {
    const auto& chunk = (*context_.chunks)[id];
    const auto now = chunk.place.load(std::memory_order_relaxed);
    if (!chunk.live || now == k_no_place || places[id] == k_no_place || now == places[id]) continue;
    (rank(places[id]) > rank(now) ? out : in).push_back({id, places[id]});
  }
  requests.limit_rate(1);
  requests.clear_needs();
  if (!out.empty()) requests.request_moves(out, 0, iteration_ + 1);
  if (!in.empty()) requests.request_moves(in, 0, iteration_ + 1);
}

// Waits for the moves, so that no move is pending in the measured iteration.
void ValidatedStrategy::restore_unplaced(Requests& requests) {
  requests.expedite_pending();
  requests.wait_for_all();
  places_under_plan_ = places_now();
  auto places = is_given_ ? first_fit_all(context_) : places_before_plan_;
  places.resize(context_.chunks->size(), k_no_place);
  move_to(places, requests);
  requests.wait_for_all();
}

// Moves data back to where it was under the plan, which is then in force for good.
void ValidatedStrategy::reinstate_plan(Requests& requests) {
  auto places = places_under_plan_;
  places.resize(context_.chunks->size(), k_no_place);
  state_ = State::settled;
  restorations_left_ = 0;
  if (context_.ranks) context_.ranks->restore_shares();
  evidence_left_ = evidence_.with.count();
  move_to(places, requests);
  requests.wait_for_all();
}

void ValidatedStrategy::undo_plan(Requests& requests) {
  is_over_ = true;
  const auto loss = -gain(evidence_.without.median(), evidence_.with.median());
  requests.note("warning", "the plan is undone: iterations took " + format_percent(loss) +
                               " longer with it than without; everything is where it was without it, and stays");
}

// Reports the gain, if it is known.
void ValidatedStrategy::report_gain(Requests& requests) {
  if (!is_judged_) return;
  const auto& [without, with] = evidence_;
  // Without moves there is no gain.
  if (with.count() == 0 || (!is_given_ && !has_moved_)) return;
  if (!evidence_.is_steady()) {
    requests.note("note", "what the plan gained is not known: iterations change by themselves");
    return;
  }
  // Where other programs ran meanwhile, the times with the plan are corrected.
  const auto corrected = placed_time(without, with);
  const auto noise = !is_beyond_noise(without, with.scaled(corrected / with.median()));
  requests.on_gain_measured({without.median(), corrected, static_cast<std::uint32_t>(without.count()),
                             static_cast<std::uint32_t>(with.count()), predicted_of_evidence_, is_over_, noise});
}

}  // namespace terrace::strategy
