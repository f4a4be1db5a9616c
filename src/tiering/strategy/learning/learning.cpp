// See learning.hpp.
#include "strategy/learning/learning.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "model/problem.hpp"
#include "strategy/learning/restored_places.hpp"
#include "strategy/planner.hpp"
#include "strategy/tiering/first_fit.hpp"

namespace terrace::strategy {
namespace {

// Numbers with a point need the part of the C++ library that needs libm, which must stay out of users' processes.
std::string microseconds(Seconds time) {
  const auto halves = static_cast<std::uint64_t>(time.value * 2e6);
  return std::to_string((halves + 1) / 2) + "us";
}

}  // namespace

Learning::Learning(const Context& context, const Planner* planner, const std::optional<Plan>& given)
    : context_(context),
      planner_(planner),
      given_(given.has_value()),
      tries_(context_.clock->is_exact() && !context_.compares),
      counted_(context_),
      payback_(context_, tries_ && !given_ && planner_ != nullptr && planner_->meanwhile() != nullptr) {
  if (given) plan_.emplace(*given, context_, true);
}

bool Learning::learns(std::uint32_t iteration) const {
  return context_.profiles && may_plan() && learns_from_ &&
         (iteration < *learns_from_ + iterations_to_learn() || !knows_enough());
}

// Once in a loop.
bool Learning::has_learned(std::uint32_t iterations) const {
  return may_plan() && learns_from_ && !learned_.empty() && iterations >= *learns_from_ + iterations_to_learn() &&
         knows_enough();
}

bool Learning::knows_enough() const { return !context_.knows_enough || context_.knows_enough(); }

// Before there is a plan, data begins where the kernel would put it: learning then costs less than with all of it
// in slow memory.
Stretch Learning::initial(const observe::Object& object, std::uint32_t ordinal, std::uint32_t left) {
  if (plan_ && !let_go_) return plan_->initial(object, ordinal, left);
  if (places_by_counts() && !gave_up_) return counted_.initial(object, left);
  const bool is_stack = context_.compares && object.kind == observe::ObjectKind::stack;
  if (planner_ != nullptr && !is_stack)
    if (const auto fit = first_fit(context_, object, left)) return *fit;
  return {context_.home(), left};
}

void Learning::observe(const ObjectAdded& event, Requests& requests) {
  if (plan_) plan_->bind(event.object, requests);
  let_go_ = is_plan_over() && requests.all_done();
}

void Learning::observe(const LoopBegun& event, Requests& requests) {
  learned_.clear();
  coming_.clear();
  variation_.forget();
  again_ = is_learned_ = moved_early_ = misses_nowhere_ = over_ = let_go_ = false;
  last_arrival_.reset();
  early_.reset();
  learns_from_.reset();
  payback_.loop_begun(event);
  trial_.begin_loop();
  is_undisturbed_ = false;
  waits_for_ = 0;
  is_gathering_ = false;
  steps_.forget();
  restore_after_loop(event.name, requests);
  iteration_ = 0;
  has_looped_ = true;
  if (plan_)
    plan_->loop_begun(requests);
  else
    requests.limit_rate(1);
  if (!given_ || bettered_) plan_.reset();  // a second loop is learned anew
  if (takes_hints() && event.new_hints && !gave_up_) counted_.place(requests);
}

void Learning::observe(const LoopEnded&, Requests&) { over_ = true; }

void Learning::observe(const IterationProfiled& event, Requests&) {
  if (!knows_enough()) learned_.clear();  // the last one says all that is known so far
  learned_.push_back(event.iteration);
  places_at_start_ = event.places;
}

void Learning::observe(const IterationBegins& event, Requests& requests) {
  // What was to be profiled again is not heard of while the plan is suspended.
  const bool was_learned = again_ || learns(iteration_);
  payback_.iteration_begins(event.iteration, was_learned);
  if (is_tried()) judge(event.iteration, was_learned, requests);
  if ((again_ && !learned_.empty()) || has_learned(event.iteration)) learn(event.loop, requests);
  again_ = false;
  iteration_ = event.iteration;
  if (may_plan() && !learns_from_ && payback_.may_learn()) learns_from_ = iteration_;
  if (plan_ && given_) plan_->iteration_begins(event, requests);
  if (event.iteration == 0 && plan_ && given_ && planner_) {
    again_ = true;
    why_ = "learned in the first iteration, under the plan that was given";
  }
  watch(event.iteration, requests);
  if (is_gathering_ && plan_ && !last_arrival_ && !again_) gather_step(event.iteration, requests);
  if (plan_ && !last_arrival_) trial_.arrive();
}

// Compares iterations under a plan with those before it, and withdraws the plan where it is behind.
void Learning::judge(std::uint32_t iteration, bool was_learned, Requests& requests) {
  if (iteration > 0) {
    if (is_undisturbed_) trial_.add_before(payback_.last_time());
    if (plan_ && !was_learned) {
      const auto behind = trial_.add_under_plan(payback_.last_time());
      if (behind.value > 0 &&
          payback_.pays_to_end(behind, moves_to_places(context_, trial_.places_before(), requests)))
        withdraw(behind, iteration, requests);
    }
  }
  is_undisturbed_ = !plan_ && requests.all_done();
}

void Learning::withdraw(Seconds behind, std::uint32_t iteration, Requests& requests) {
  requests.note("note", "the plan is withdrawn: iterations took " + microseconds(behind) +
                            " longer with it than before; data goes back to where it was");
  request_places(context_, trial_.places_before(), iteration, requests);
  trial_.settle();
  is_gathering_ = false;
  plan_.reset();
  coming_.clear();
  last_arrival_.reset();
  variation_.forget();
  again_ = false;
  put_off();
}

// A loop that was found and has begun once is over when another one begins: what its plan moved goes back, as the
// plan's gain has paid for that, and the other loop is learned from where the kernel would have its data. A loop
// that began several times is expected to begin again.
void Learning::restore_after_loop(std::string_view next, Requests& requests) {
  loop_ = next;
  if (payback_.is_found()) ++entries_[loop_];
  if (places_without_plan_.empty() || planned_loop_ == loop_ || entries_[planned_loop_] > 1) return;
  request_places(context_, places_without_plan_, 0, requests);
  places_without_plan_.clear();
}

// Phases that take other times than they did: the iteration that begins is profiled again, and the plan in force
// is obeyed meanwhile.
void Learning::watch(std::uint32_t iteration, Requests& requests) {
  if (last_arrival_ && requests.done(*last_arrival_)) {
    last_arrival_.reset();
    variation_.watch();
    return;
  }
  const auto varied = variation_.iteration_ended();
  if (!varied) return;
  if (!payback_.may_learn() || payback_.iterations() > 1) return variation_.watch();
  again_ = true;
  learned_.clear();
  why_ = "learned again in iteration " + std::to_string(iteration + 1) + ": phase " +
         std::to_string(varied->phase + 1) + ", \"" + varied->name + "\", took " + microseconds(varied->now) +
         " instead of " + microseconds(varied->usual) + ", " + std::to_string(varied->iterations) +
         " iterations running";
  requests.note("note", why_);
}

void Learning::learn(std::string_view loop, Requests& requests) {
  is_learned_ = true;
  was_again_ = again_;
  profile::Profile profile;
  profile.loop = loop;
  profile.progress = context_.progress;
  profile.sample_interval = context_.sample_interval;
  profile.initiator = context_.initiator;
  profile.cores = context_.cores;
  profile.objects = *context_.objects;
  profile.iterations = learned_;
  profile.places = places_at_start_;
  profile.moving = again_ || moved_early_;
  if (!again_) why_ = "learned in the first iteration";
  try {
    auto problem = model::make_problem(profile, *context_.machine, context_.budget_of_its_own(),
                                       model::affordable_items(profile), context_.hints->directives());
    model::drop_unreached_segments(problem);
    if (model::cell_count(problem) == 0) {
      misses_nowhere_ = true;
      throw Error(Code::not_found, "the first iteration of " + profile.loop +
                                       " missed in no object: the caches hold what it uses, or it has no hooks");
    }
    coming_ =
        coming_plans(*planner_, problem, context_.calibration, *context_.clock, again_, payback_.must_pay(), why_);
    if (is_tried()) {
      auto items = model::items_by_chunk(profile, problem);
      steps_.learn(std::move(problem), std::move(items));
      order_first_moves(requests);
    }
  } catch (const std::exception& error) {
    learned_.clear();
    if (again_) {
      requests.note("warning",
                    std::string("no new plan was made, the one before stays in force: ") + error.what());
      return variation_.watch();
    }
    // A loop that misses nowhere may be inside, or before, one that does: that one is learned anew.
    if (!misses_nowhere_) gave_up_ = true;
    if (!std::exchange(said_, true))
      requests.note("warning", std::string("no plan was made, data stays where it is: ") + error.what());
  }
}

// Moves of the first plan are ordered beside the program, where it has them to be known before it is adopted.
void Learning::order_first_moves(Requests& requests) {
  if (coming_.empty() || plan_ || !goes_in_steps(coming_.front().plan)) return;
  auto plan = followed(coming_.front().plan, requests);
  coming_.front().groups = steps_.order(plan.moves_to_gather(requests, 0), requests.under_way());
  const auto cost = steps_.take_cost();
  for (auto& coming : coming_) coming.at += cost;
  context_.clock->charge_background_work(cost);
}

// A plan made here, with the objects that there are.
FollowedPlan Learning::followed(const Plan& plan, Requests& requests) const {
  FollowedPlan made(plan, context_, false);
  made.keep({plan, context_, reached()});
  for (const auto& object : *context_.objects)
    if (object.live) made.bind(object, requests);
  return made;
}

// By chunk, in the iterations that the plan was made of.
std::vector<bool> Learning::reached() const {
  std::vector<bool> chunks(context_.chunks->size());
  for (const auto& iteration : learned_)
    for (const auto& phase : iteration.phases)
      for (const auto& cell : phase.cells) chunks[cell.chunk] = true;
  return chunks;
}

void Learning::observe(const PhaseBegins& event, Requests& requests) {
  if (again_ || payback_.seen() < waits_for_) return;
  if (is_tried() && !plan_ && !trial_.can_compare()) return;  // an iteration without a plan comes first
  while (!coming_.empty() && context_.clock->now() >= coming_.front().at &&
         adopt(coming_.front(), event, requests))
    coming_.pop_front();
}

// Puts the plan into force from the phase that begins. Returns false if the plan has another phase there.
bool Learning::adopt(ComingPlan& coming, const PhaseBegins& at, Requests& requests) {
  if (plan_ && plan_->plan().places_as(coming.plan)) {
    requests.note("note", "the new plan is the old one, which stays in force");
    variation_.watch();
    return true;
  }
  auto adopted = followed(coming.plan, requests);
  const auto phase = adopted.find(at);
  if (!phase) return false;
  auto moves = adopted.moves_to_gather(requests, *phase);
  const bool in_steps = goes_in_steps(coming.plan) && !moves.empty();
  const auto iterations = in_steps ? steps_pay_after(coming, moves, requests) : pays_after(coming.plan, moves);
  if (payback_.seen() < iterations) {
    if (was_again_) variation_.watch();
    if (plan_ || coming_.size() > 1) return true;
    // It waits for as many iterations, if these are not more than there have been.
    waits_for_ = iterations;
    if (iterations <= 2 * payback_.seen()) return false;
    put_off();
    return true;
  }
  if (is_tried()) {
    if (places_without_plan_.empty()) places_without_plan_ = current_places(context_);
    planned_loop_ = loop_;
    trial_.adopt(current_places(context_));
    if (was_again_) trial_.settle();  // the program has changed: iterations before are no measure
  }
  requests.adopted(coming.plan, coming.why);
  requests.forget_needs();
  bettered_ = given_;
  plan_.emplace(std::move(adopted));
  if (in_steps) {
    steps_.begin(std::move(*coming.groups));
    moves = take_step(requests);
  }
  is_gathering_ = in_steps && !steps_.is_done();
  plan_->request(std::move(moves), at.iteration + 1, requests);
  if (requests.all_done())
    variation_.watch();
  else
    last_arrival_ = requests.last_asked();
  return true;
}

// Where nothing moves within an iteration any part of the moves is of use without the others.
bool Learning::goes_in_steps(const Plan& plan) const { return is_tried() && plan.moves.empty() && !was_again_; }

// Returns how many iterations of the loop there have to be for the first step of the plan. A plan that betters
// another one is ordered only where all of it pays: that takes time of the program.
double Learning::steps_pay_after(ComingPlan& coming, std::span<const ActiveMove> moves, Requests& requests) {
  if (!coming.groups) {
    const auto iterations = pays_after(coming.plan, moves);
    if (payback_.seen() < iterations) return iterations;
    coming.groups = steps_.order(moves, requests.under_way());
    context_.clock->charge(steps_.take_cost());
  }
  if (coming.groups->empty()) return std::numeric_limits<double>::infinity();
  const auto& first = coming.groups->front().price;
  const auto gained = trial_.is_on_trial() ? trial_.gained() : Seconds{};
  if (payback_.pays(first) && payback_.may_risk(first, gained)) return 0;
  return std::max(payback_.pays_after(first), payback_.seen() + 1);
}

// Requests those of the plan's moves that pay and may be risked now.
void Learning::gather_step(std::uint32_t iteration, Requests& requests) {
  auto moves = take_step(requests);
  is_gathering_ = !steps_.is_done();
  if (!moves.empty()) {
    variation_.forget();
    plan_->request(std::move(moves), iteration + 1, requests);
  }
  if (!requests.all_done())
    last_arrival_ = requests.last_asked();
  else if (!variation_.watching())
    variation_.watch();
}

std::vector<ActiveMove> Learning::take_step(Requests& requests) {
  auto [moves, price] = steps_.take(requests.under_way(), trial_.gained());
  trial_.begin_step(price);
  return moves;
}

// A plan that needs no moves costs nothing.
double Learning::pays_after(const Plan& plan, std::span<const ActiveMove> moves) const {
  if (moves.empty() && plan.moves.empty()) return 0;
  if (given_ && !bettered_) return 0;
  const bool betters = plan_ && !was_again_;
  const auto before = betters ? plan_->plan().given().predicted : plan.predicted_before;
  return payback_.pays_after(before - plan.predicted, moves, goes_in_steps(plan));
}

// Keeps the placement, and learns the loop again if it goes on for long enough.
void Learning::put_off() {
  payback_.put_off();
  waits_for_ = 0;
  learned_.clear();
  learns_from_.reset();
  is_learned_ = false;
}

// A plan of an iteration with other phases says where data resides at first. Where another is to follow it anyway,
// the first iteration is one to learn from like any other.
void Learning::observe(const PhaseBegun& event, Requests& requests) {
  if (!plan_ || plan_->phase_begun(event, last_arrival_.has_value(), requests)) return;
  if (!std::exchange(said_others_, true))
    requests.note("note",
                  std::string("plan: made of an iteration with other phases; data resides where it says and ") +
                      (planner_ ? "is learned from there" : "moves once those of the first one are known"));
  if (!planner_) return;
  plan_.reset();
  learns_from_ = event.iteration;
  again_ = false;
  moved_early_ = true;
}

std::vector<std::string> Learning::unfollowed() const {
  return plan_ && given_ && !bettered_ ? plan_->unfollowed(has_looped_) : std::vector<std::string>();
}

void Learning::observe(const Progressed& event, Requests& requests) {
  if (plan_) plan_->progressed(event, last_arrival_.has_value(), requests);
}

void Learning::observe(const PhaseEnded& event, Requests& requests) {
  variation_.phase_ended(event.phase, event.name, event.time);
  if (plan_) plan_->phase_ended(event, requests);
}

// Who plans with a first plan does not wait for it, either: where it is not the iteration to compare with, data
// moves as soon as what was seen of it says so. Where reference counts have placed it, they know more than the
// beginning of an iteration.
bool Learning::moves_early() const {
  return planner_ && !payback_.is_found() && !gave_up_ && !places_by_counts() && !again_ && !plan_ &&
         !context_.compares && planner_->meanwhile() != nullptr;
}

void Learning::observe(const StretchProfiled& event, Requests& requests) {
  if (!moves_early()) return;
  if (!early_) early_.emplace(context_, payback_);
  moved_early_ = early_->profiled(event, requests) || moved_early_;
}

}  // namespace terrace::strategy
