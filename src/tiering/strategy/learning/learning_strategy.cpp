// SPDX-License-Identifier: Apache-2.0
// Profiles loops, makes and adopts plans, and plans again when the program changes: the strategy that the runtime
// uses for planners and given plans. Migration in steps is in learning_steps.cpp. See learning_strategy.hpp.
#include "strategy/learning/learning_strategy.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/error.hpp"
#include "model/problem.hpp"
#include "strategy/learning/restored_places.hpp"
#include "strategy/planner.hpp"
#include "strategy/ranks/rank_group.hpp"
#include "strategy/tiering/first_fit.hpp"

namespace terrace::strategy {
namespace {

// Formats without floating point: that part of the C++ library needs libm, which users' processes must not load.
std::string microseconds(Seconds time) {
  const auto halves = static_cast<std::uint64_t>(time.value * 2e6);
  return std::to_string((halves + 1) / 2) + "us";
}

}  // namespace

LearningStrategy::LearningStrategy(const Context& context, const Planner* planner,
                                   const std::optional<Plan>& given)
    : context_(context),
      planner_(planner),
      given_(given.has_value()),
      can_try_(context_.clock->is_exact() && !context_.measures_baseline),
      counted_(context_),
      payback_(context_, can_try_ && !given_ && planner_ != nullptr && planner_->interim_planner() != nullptr) {
  if (given) plan_.emplace(*given, context_, true);
}

bool LearningStrategy::must_profile(std::uint32_t iteration) const {
  return context_.profiles && may_plan() && first_profiled_ &&
         (iteration < *first_profiled_ + iterations_to_learn() || !has_enough_samples());
}

// Returns true once per loop, when profiling is complete.
bool LearningStrategy::has_learned(std::uint32_t iterations) const {
  return may_plan() && first_profiled_ && !profiled_.empty() &&
         iterations >= *first_profiled_ + iterations_to_learn() && has_enough_samples();
}

bool LearningStrategy::has_enough_samples() const {
  return !context_.has_enough_samples || context_.has_enough_samples();
}

// Without a plan, allocates where the kernel would: the program is then profiled faster than with all data in slow
// memory.
PlacementExtent LearningStrategy::initial_placement(const observe::Object& object, std::uint32_t ordinal,
                                                    std::uint32_t left) {
  if (plan_ && !has_released_capacity_) return plan_->initial_placement(object, ordinal, left);
  if (places_by_counts() && !planning_failed_) return counted_.initial_placement(object, left);
  const bool is_stack = context_.measures_baseline && object.kind == observe::ObjectKind::stack;
  if (planner_ != nullptr && !is_stack)
    if (const auto fit = first_fit(context_, object, left)) return *fit;
  return {context_.home(), left};
}

void LearningStrategy::on_event(const StrategyEvent& event, Requests& requests) {
  std::visit([&](const auto& alternative) { handle(alternative, requests); }, event);
}

void LearningStrategy::handle(const ObjectAdded& event, Requests& requests) {
  if (plan_) plan_->bind(event.object, requests);
  has_released_capacity_ = is_plan_over() && requests.is_idle();
}

void LearningStrategy::handle(const LoopBegun& event, Requests& requests) {
  profiled_.clear();
  pending_plans_.clear();
  change_detector_.reset();
  is_reprofiling_ = is_learned_ = has_moved_early_ = has_no_misses_ = is_loop_over_ = has_released_capacity_ =
      false;
  last_arrival_.reset();
  early_.reset();
  first_profiled_.reset();
  payback_.on_loop_begin(event);
  trial_.begin_loop();
  is_undisturbed_ = false;
  problem_.reset();
  profiled_times_.clear();
  awaits_division_ = false;
  if (context_.ranks && !event.by_time) context_.ranks->begin_loop(event.name);
  adopt_at_ = 0;
  is_migrating_ = false;
  steps_.reset();
  restore_after_loop(event.name, requests);
  iteration_ = 0;
  has_looped_ = true;
  if (plan_)
    plan_->on_loop_begin(requests);
  else
    requests.limit_rate(1);
  if (!given_ || is_improved_) plan_.reset();  // a second loop is profiled anew
  if (uses_hints() && event.new_hints && !planning_failed_) counted_.place(requests);
}

void LearningStrategy::handle(const LoopEnded&, Requests&) {
  is_loop_over_ = true;
  if (context_.ranks) context_.ranks->end_loop();
}

void LearningStrategy::handle(const IterationProfiled& event, Requests&) {
  if (!has_enough_samples()) profiled_.clear();  // the latest profile includes the earlier ones
  profiled_.push_back(event.iteration);
  places_at_start_ = event.places;
}

void LearningStrategy::handle(const IterationBegins& event, Requests& requests) {
  // While the plan is suspended, IterationProfiled may not arrive for an iteration to profile again.
  const bool was_learned = is_reprofiling_ || must_profile(iteration_);
  if (context_.ranks) {
    end_iteration_times(was_learned);
    context_.ranks->begin_iteration(event.iteration);
  }
  payback_.on_iteration_begin(event.iteration, was_learned);
  if (must_try()) judge(event.iteration, was_learned, requests);
  if ((is_reprofiling_ && !profiled_.empty()) || has_learned(event.iteration))
    plan_from_profile(event.loop, requests);
  is_reprofiling_ = false;
  iteration_ = event.iteration;
  if (context_.ranks) plan_divided(event.iteration, requests);
  if (may_plan() && !first_profiled_ && payback_.may_profile()) first_profiled_ = iteration_;
  if (plan_ && given_) plan_->on_iteration_begin(event, requests);
  if (event.iteration == 0 && plan_ && given_ && planner_) {
    is_reprofiling_ = true;
    why_ = "learned in the first iteration, under the plan that was given";
  }
  detect_change(event.iteration, requests);
  if (is_migrating_ && plan_ && !last_arrival_ && !is_reprofiling_) request_step(event.iteration, requests);
  if (plan_ && !last_arrival_) trial_.on_moves_done();
  if (context_.ranks && plan_) request_missing(event.iteration, requests);
}

// Compares iterations under a plan with those before it, and withdraws the plan where it is behind.
void LearningStrategy::judge(std::uint32_t iteration, bool was_learned, Requests& requests) {
  if (iteration > 0) {
    if (is_undisturbed_) trial_.add_before(payback_.last_time());
    if (plan_ && !was_learned) {
      const auto behind = trial_.add_under_plan(payback_.last_time());
      if (behind.value > 0 &&
          payback_.pays_to_end(behind, moves_to_places(context_, trial_.places_before(), requests)))
        withdraw(behind, iteration, requests);
    }
  }
  is_undisturbed_ = !plan_ && requests.is_idle();
}

void LearningStrategy::withdraw(Seconds behind, std::uint32_t iteration, Requests& requests) {
  requests.note("note", "the plan is withdrawn: iterations took " + microseconds(behind) +
                            " longer with it than before; data goes back to where it was");
  request_places(context_, trial_.places_before(), iteration, requests);
  trial_.end();
  is_migrating_ = false;
  plan_.reset();
  pending_plans_.clear();
  last_arrival_.reset();
  change_detector_.reset();
  is_reprofiling_ = false;
  postpone();
}

// Moves data back after a detected loop that began once, when another loop begins: the plan's gain has paid for
// that, and the other loop is then profiled from the kernel's placement. A loop that began several times is
// expected to begin again.
void LearningStrategy::restore_after_loop(std::string_view next, Requests& requests) {
  loop_ = next;
  if (payback_.is_detected()) ++entries_[loop_];
  if (places_without_plan_.empty() || planned_loop_ == loop_ || entries_[planned_loop_] > 1) return;
  request_places(context_, places_without_plan_, 0, requests);
  places_without_plan_.clear();
}

// Profiles the iteration that begins again if phase times have changed. The plan in force is followed meanwhile.
void LearningStrategy::detect_change(std::uint32_t iteration, Requests& requests) {
  if (last_arrival_ && requests.is_done(*last_arrival_)) {
    last_arrival_.reset();
    change_detector_.start_watching();
    return;
  }
  const auto varied = change_detector_.on_iteration_end();
  if (context_.ranks && context_.ranks->take_profile_request() && !varied)
    return profile_with_others(iteration, requests);
  if (!varied) return;
  if (!payback_.may_profile() || payback_.iterations() > 1) return change_detector_.start_watching();
  is_reprofiling_ = true;
  profiled_.clear();
  profiled_times_.clear();
  if (context_.ranks) context_.ranks->request_profile();
  why_ = "learned again in iteration " + std::to_string(iteration + 1) + ": phase " +
         std::to_string(varied->phase + 1) + ", \"" + varied->name + "\", took " + microseconds(varied->now) +
         " instead of " + microseconds(varied->usual) + ", " + std::to_string(varied->iterations) +
         " iterations running";
  requests.note("note", why_);
}

void LearningStrategy::plan_from_profile(std::string_view loop, Requests& requests) {
  is_learned_ = true;
  was_reprofiled_ = is_reprofiling_;
  profile::Profile profile;
  profile.loop = loop;
  profile.progress = context_.progress;
  profile.sample_interval = context_.sample_interval;
  profile.initiator = context_.initiator;
  profile.cores = context_.cores;
  profile.objects = *context_.objects;
  profile.iterations = profiled_;
  profile.places = places_at_start_;
  profile.moving = is_reprofiling_ || has_moved_early_;
  if (!is_reprofiling_) why_ = "learned in the first iteration";
  try {
    // Ranks divide the whole budget, also what others hold now.
    auto problem =
        model::make_problem(profile, *context_.machine, context_.ranks ? context_.budget : context_.own_budget(),
                            model::affordable_items(profile), context_.hints->directives());
    model::drop_unreached_segments(problem);
    if (model::cell_count(problem) == 0) {
      has_no_misses_ = true;
      throw Error(Code::not_found,
                  "the first iteration of " + profile.loop +
                      " had no cache miss in an object: the caches hold its data, or it is not instrumented; "
                      "in that case build it with terrace-cc");
    }
    if (must_try()) {
      steps_.set_problem(problem, model::items_by_chunk(profile, problem));
    }
    if (context_.ranks) return publish_gains(std::move(problem));
    make_plans(std::move(problem), is_reprofiling_, requests);
  } catch (const std::exception& error) {
    on_planning_failed(error.what(), is_reprofiling_, requests);
  }
}

void LearningStrategy::make_plans(model::Problem problem, bool has_plan, Requests& requests) {
  pending_plans_ = make_pending_plans(*planner_, problem, context_.calibration, *context_.clock, has_plan,
                                      payback_.must_pay(), why_);
  if (must_try()) order_first_moves(requests);
}

void LearningStrategy::on_planning_failed(const std::string& why, bool has_plan, Requests& requests) {
  profiled_.clear();
  if (has_plan) {
    requests.note("warning", "no new plan was made, the one before stays in force: " + why);
    return change_detector_.start_watching();
  }
  // A loop without misses may be inside, or before, a loop with misses, which is then profiled.
  if (!has_no_misses_) planning_failed_ = true;
  if (!std::exchange(has_warned_, true))
    requests.note("warning", "no plan was made, data stays where it is: " + why);
}

// Returns an executor of a plan made here, with all live objects bound.
PlanExecutor LearningStrategy::make_executor(const Plan& plan, Requests& requests) const {
  PlanExecutor made(plan, context_, false);
  made.allow_unplanned({plan, context_, reached_chunks()});
  for (const auto& object : *context_.objects)
    if (object.live) made.bind(object, requests);
  return made;
}

// Returns for each chunk whether the profiled iterations accessed it.
std::vector<bool> LearningStrategy::reached_chunks() const {
  std::vector<bool> chunks(context_.chunks->size());
  for (const auto& iteration : profiled_)
    for (const auto& phase : iteration.phases)
      for (const auto& cell : phase.cells) chunks[cell.chunk] = true;
  return chunks;
}

void LearningStrategy::handle(const PhaseBegins& event, Requests& requests) {
  if (is_reprofiling_ || payback_.num_iterations() < adopt_at_) return;
  if (must_try() && !plan_ && !trial_.can_compare()) return;  // a baseline iteration is required first
  while (!pending_plans_.empty() && context_.clock->now() >= pending_plans_.front().at &&
         adopt(pending_plans_.front(), event, requests))
    pending_plans_.pop_front();
}

// Puts the plan into force from the phase that begins. Returns false if the plan has another phase there.
bool LearningStrategy::adopt(PendingPlan& pending, const PhaseBegins& at, Requests& requests) {
  if (plan_ && plan_->plan().has_same_places(pending.plan)) {
    requests.note("note", "the new plan is the old one, which stays in force");
    change_detector_.start_watching();
    return true;
  }
  auto adopted = make_executor(pending.plan, requests);
  const auto phase = adopted.find_phase(at);
  if (!phase) return false;
  auto moves = adopted.moves_to_placement(requests, *phase);
  // Releasing memory beyond the share makes other ranks faster: here it never pays.
  const bool must_release = exceeds_share();
  const bool in_steps = can_step(pending.plan) && !moves.empty() && !must_release;
  const auto iterations = in_steps       ? steps_pay_after(pending, moves, requests)
                          : must_release ? 0
                                         : pays_after(pending.plan, moves);
  if (payback_.num_iterations() < iterations) {
    if (was_reprofiled_) change_detector_.start_watching();
    if (plan_ || pending_plans_.size() > 1) return true;
    // Waits for so many iterations, if that at most doubles the iterations so far.
    adopt_at_ = iterations;
    if (iterations <= 2 * payback_.num_iterations()) return false;
    postpone();
    return true;
  }
  if (must_try()) {
    if (places_without_plan_.empty()) places_without_plan_ = current_places(context_);
    planned_loop_ = loop_;
    trial_.adopt(current_places(context_));
    // Earlier iterations are no baseline if the program has changed, or what this rank loses is another's gain.
    if (was_reprofiled_ || must_release) trial_.end();
  }
  requests.on_plan_adopted(pending.plan, pending.why);
  requests.clear_needs();
  is_improved_ = given_;
  plan_.emplace(std::move(adopted));
  if (in_steps) {
    steps_.begin(std::move(*pending.groups));
    moves = take_step(requests);
  }
  is_migrating_ = in_steps && !steps_.is_done();
  next_request_ = 0;
  request_interval_ = 1;
  plan_->request(std::move(moves), at.iteration + 1, requests);
  if (requests.is_idle())
    change_detector_.start_watching();
  else
    last_arrival_ = requests.last_ticket();
  return true;
}

// Keeps the placement, and profiles the loop again after twice as many iterations.
void LearningStrategy::postpone() {
  payback_.postpone();
  adopt_at_ = 0;
  profiled_.clear();
  first_profiled_.reset();
  is_learned_ = false;
}

// A given plan with other phases determines only the initial placement. With a planner, the first iteration is
// then profiled as usual.
void LearningStrategy::handle(const PhaseBegun& event, Requests& requests) {
  const bool full_speed = last_arrival_.has_value() || waits_in_mpi(event.phase);
  if (!plan_ || plan_->on_phase_begin(event, full_speed, requests)) return;
  if (!std::exchange(has_noted_mismatch_, true))
    requests.note("note",
                  std::string("plan: made of an iteration with other phases; data resides where it says and ") +
                      (planner_ ? "is learned from there" : "moves once those of the first one are known"));
  if (!planner_) return;
  plan_.reset();
  first_profiled_ = event.iteration;
  is_reprofiling_ = false;
  has_moved_early_ = true;
}

std::vector<std::string> LearningStrategy::unfollowed() const {
  return plan_ && given_ && !is_improved_ ? plan_->unfollowed(has_looped_) : std::vector<std::string>();
}

void LearningStrategy::handle(const Progressed& event, Requests& requests) {
  if (plan_) plan_->on_progress(event, last_arrival_.has_value(), requests);
}

void LearningStrategy::handle(const PhaseEnded& event, Requests& requests) {
  change_detector_.on_phase_end(event.phase, event.name, event.time - event.in_mpi);
  if (plan_) plan_->on_phase_end(event, requests);
  if (context_.ranks) add_phase_time(event);
}

// Returns whether data may move before the first plan: for planners with an interim planner, unless the iteration
// is the baseline. Not after a placement by reference counts, which know more than the beginning of an iteration.
bool LearningStrategy::can_move_early() const {
  return planner_ && !payback_.is_detected() && !planning_failed_ && !places_by_counts() && !is_reprofiling_ &&
         !plan_ && !context_.measures_baseline && planner_->interim_planner() != nullptr;
}

void LearningStrategy::handle(const SegmentProfiled& event, Requests& requests) {
  if (!can_move_early()) return;
  if (!early_) early_.emplace(context_, payback_);
  has_moved_early_ = early_->on_segment(event, requests) || has_moved_early_;
}

}  // namespace terrace::strategy
