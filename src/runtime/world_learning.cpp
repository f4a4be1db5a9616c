// From an iteration that was profiled to a plan in force, and back when the program does something else. See
// world.hpp.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "model/problem.hpp"
#include "runtime/world.hpp"
#include "strategy/planner.hpp"

namespace terrace::runtime {

namespace {

constexpr Seconds k_longest_wait{50e-3};   // of a program for its plan
constexpr double k_worth_a_change = 1e-3;  // of an iteration: predictions err by no less

// Numbers with a point need the part of the C++ library that needs libm, which must stay out of users' processes.
std::string microseconds(Seconds time) {
  const auto halves = static_cast<std::uint64_t>(time.value * 2e6);
  return std::to_string((halves + 1) / 2) + "us";
}

}  // namespace

// What the iteration that has just ended taught, and what is made of the one that begins.
void World::steer(const PhaseTracker& tracker, bool followed, const std::vector<observe::Object>& objects) {
  const auto iteration = tracker.iteration();
  if (iteration > 0) end_iteration(iteration - 1);
  const bool learned = iteration == parts_.steering.learn_iterations && learning(iteration - 1);
  if (again_ || (learned && !parts_.steering.record_only)) learn(tracker, objects);
  again_ = false;
  carry(iteration, objects);
  if (iteration == 0 && has_plan_ && parts_.steering.better_plan) {
    again_ = true;
    why_ = "learned in the first iteration, under the plan that was given";
  }
  watch(iteration);
  iterations_ = iteration + 1;
  followed_whole_ = followed;
  const bool learn_now = followed && (again_ || learning(iteration));
  const bool count_now = followed && parts_.steering.keep_exact;
  collecting_ = learn_now || count_now;
  if (parts_.sampled) parts_.sampled->set_active(learn_now);
  if (parts_.exact) parts_.exact->set_active(count_now);
  if (collecting_) note_places();
  with_collectors([&](observe::Collector& collector) { collector.begin_iteration(iteration); });
}

// Phases that take other times than they did: the iteration that begins is profiled again, and the plan in force
// is obeyed meanwhile.
void World::watch(std::uint32_t iteration) {
  if (last_arrival_ && parts_.mover->done(*last_arrival_)) {
    last_arrival_.reset();
    variation_.watch();
    return;
  }
  const auto varied = variation_.iteration_ended();
  if (!varied) return;
  again_ = true;
  learned_.clear();
  segmenter_.forget();
  why_ = "learned again in iteration " + std::to_string(iteration + 1) + ": phase " +
         std::to_string(varied->phase + 1) + ", \"" + varied->name + "\", took " + microseconds(varied->now) +
         " instead of " + microseconds(varied->usual) + ", " + std::to_string(varied->iterations) +
         " iterations running";
  note("note", why_);
}

void World::learn(const PhaseTracker& tracker, const std::vector<observe::Object>& objects) {
  profile::Profile profile;
  profile.loop = tracker.loop();
  profile.sample_interval = parts_.sample_interval;
  profile.initiator = parts_.initiator;
  profile.cores = parts_.cores;
  profile.objects = objects;
  profile.iterations = learned_;
  profile.places = places_at_start_;
  profile.moving = again_ || moved_early_;
  if (!again_) why_ = "learned in the first iteration";
  try {
    auto problem = model::make_problem(profile, *parts_.machine, parts_.budget, model::affordable_items(profile),
                                       hints_.directives());
    model::leave_out_unreached(problem);
    if (model::cell_count(problem) == 0)
      throw Error(Code::not_found, "no accesses were seen: build with terrace-cc and its sisters, or give --plan");
    plan(problem);
  } catch (const std::exception& error) {
    learned_.clear();
    if (again_) {
      note("warning", std::string("no new plan was made, the one before stays in force: ") + error.what());
      return variation_.watch();
    }
    note("warning", std::string("no plan was made, data stays where it is: ") + error.what());
    parts_.steering.planner = "slow-only";
  }
}

// Where planning goes on beside the program, that need not wait for the best plan: it has a good one first, and
// better ones after it. When it is profiled again it has a plan, and keeps that meanwhile. Where the program
// itself waits for its plan, a search has to be a short one.
void World::plan(const model::Problem& problem) {
  using strategy::Effort;
  coming_.clear();
  const auto& planner = strategy::find_planner(parts_.steering.planner);
  const auto& calibration = parts_.calibration;
  auto beaten = Seconds{std::numeric_limits<double>::infinity()};
  Seconds taken;
  const auto comes = [&](const strategy::Planner& by, Seconds takes, const strategy::Decision& decision) {
    taken += takes;
    if (decision.prediction.total > (1 - k_worth_a_change) * beaten) return;
    beaten = decision.prediction.total;
    coming_.push_back(
        {strategy::make_plan(problem, decision, by.name()), parts_.clock->finished_beside(taken), why_});
  };
  const auto make = [&](const strategy::Planner& by, Effort effort) {
    auto decision = by.decide(problem, calibration, effort);
    comes(by, by.takes(problem, effort), decision);
    return decision;
  };
  const bool gains = planner.gains_by(problem, Effort::unhurried);
  if (parts_.clock->finished_beside(planner.takes(problem, Effort::quick)) <= now()) {
    const bool short_enough = planner.takes(problem, Effort::unhurried) <= k_longest_wait;
    make(planner, gains && short_enough ? Effort::unhurried : Effort::quick);
    return;
  }
  const auto* first = again_ ? nullptr : planner.meanwhile();
  if (first) make(*first, Effort::quick);
  make(planner, Effort::quick);
  if (!gains) return;
  if (!first || !first->gains_by(problem, Effort::unhurried)) {
    make(planner, Effort::unhurried);
    return;
  }
  const auto meanwhile = make(*first, Effort::unhurried);
  const auto rest = planner.takes(problem, Effort::unhurried) - first->takes(problem, Effort::unhurried);
  comes(planner, rest, planner.decide_after(meanwhile, problem, calibration, Effort::unhurried));
}

void World::adopt_what_came(const PhaseTracker& tracker, const std::vector<observe::Object>& objects) {
  while (!coming_.empty() && now() >= coming_.front().at && adopt(coming_.front(), tracker, objects))
    coming_.pop_front();
}

// From the phase that begins; false where the plan does not expect that one there.
bool World::adopt(const Coming& coming, const PhaseTracker& tracker, const std::vector<observe::Object>& objects) {
  const auto& plan = coming.plan;
  if (has_plan_ && active_.places_as(plan)) {
    note("note", "the new plan is the old one, which stays in force");
    variation_.watch();
    return true;
  }
  strategy::ActivePlan adopted(plan, *parts_.machine, domain_);
  const auto phase = tracker.index() == 0 ? 0 : adopted.find_phase(tracker.index(), tracker.phase());
  if (!phase) return false;
  journal_.write(profile::PlanRecord{plan, now(), coming.why});
  bettered_ = parts_.steering.better_plan;
  active_ = std::move(adopted);
  has_plan_ = true;
  plan_phase_.reset();
  needed_.clear();
  late_.clear();
  plan_mismatch_noted_ = false;
  for (const auto& object : objects)
    if (object.live) bind(object);
  gather(objects, *phase);
  if (pending_.empty())
    variation_.watch();
  else
    last_arrival_ = first_pending_ + pending_.size() - 1;
  return true;
}

// A plan that was given may be another run's, with other sizes and other phases. What fits of it is known when the
// loop begins, which phases answer to its own after the first iteration.
void World::carry(std::uint32_t iteration, const std::vector<observe::Object>& objects) {
  if (!parts_.steering.plan || !has_plan_ || iteration > 1) return;
  if (iteration == 0) {
    if (!active_.scaled()) return;
    active_.scale_segments_by_size();
    if (const auto misfit = active_.fit(objects, *parts_.chunks, parts_.budget, parts_.machine->home(domain_))) {
      note("note", *misfit);
      gather(objects);
    }
    return;
  }
  if (!strayed_ && !active_.scaled()) return;
  const auto answered = active_.answer(passed_);
  if (std::exchange(strayed_, false)) {
    note("note",
         "plan: made of an iteration of " + std::to_string(active_.phases()) + " phases, and there are " +
             std::to_string(passed_.size()) + " here: " + std::to_string(answered) +
             " of them answer to the plan's by their names; what the others ask for is asked for by the next");
    gather(objects);
  }
}

}  // namespace terrace::runtime
